#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/check.h"
#include "platform/event_loop.h"
#include "store/etcd/etcd_store.h"

namespace muster::testing {

/// An etcd store on a loop of its own, with calls that wait for their answer. Any thread but the
/// loop's.
class StoreClient {
 public:
  explicit StoreClient(const std::string& url, EtcdOptions options = {}) {
    loop_.run([&] {
      const auto parsed = Url::parse(url);
      auto opened = open_etcd_store(parsed.value(), options, loop_.loop());
      store_ = std::move(opened).value();
    });
  }
  ~StoreClient() {
    loop_.run([&] {
      watch_.reset();
      store_.reset();
    });
  }

  Result<Object> get(const Key& key, std::optional<Revision> unless = {}, Duration timeout = 5s) {
    return wait<Object>([&](Callback<Object> done) {
      store_->get(key, unless, loop_.loop().now() + timeout, std::move(done));
    });
  }
  Result<Revision> put(const Key& key, const std::string& body, Precondition when = {},
                       Duration timeout = 5s) {
    return wait<Revision>([&](Callback<Revision> done) {
      store_->put(key, body, when, loop_.loop().now() + timeout, std::move(done));
    });
  }
  Result<Revision> guarded_put(const Key& key, const std::string& body, Precondition when,
                               Guard guard) {
    return wait<Revision>([&](Callback<Revision> done) {
      store_->guarded_put(key, body, when, guard, loop_.loop().now() + 5s, std::move(done));
    });
  }
  Status remove(const Key& key, std::optional<Revision> when = {}) {
    return wait<Done>([&](Callback<Done> done) {
      store_->remove(key, when, loop_.loop().now() + 5s, std::move(done));
    });
  }
  Result<ListPage> list(const std::string& prefix, const std::string& from = "") {
    return wait<ListPage>([&](Callback<ListPage> done) {
      store_->list(prefix, from, loop_.loop().now() + 5s, std::move(done));
    });
  }

  /// From a moment that lies certainly before whatever another client writes next: without a
  /// cursor, "now" is when the store has heard of the watch.
  void watch_from_here(const std::string& prefix) {
    const auto here = list(prefix);
    MUSTER_CHECK(here.ok());
    watch(prefix, here->cursor);
  }
  void watch(const std::string& prefix, const std::string& cursor) {
    loop_.run([&] {
      watch_ = store_->watch(prefix, cursor, [this](const WatchEvent& event) {
        const std::lock_guard lock(mutex_);
        events_.push_back(event);
        arrived_.notify_all();
      });
    });
  }
  /// The next event of the watch; waits for it.
  WatchEvent next_event() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, 30s, [&] { return !events_.empty(); })) {
      throw std::runtime_error("no event within 30 s");
    }
    WatchEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  LoopThread& loop() { return loop_; }
  std::unique_ptr<ObjectStore>& store() { return store_; }

 private:
  template <typename T, typename Start>
  Result<T> wait(Start start) {
    std::promise<Result<T>> promise;
    loop_.run([&] {
      start(Callback<T>([&promise](Result<T> result) { promise.set_value(std::move(result)); }));
    });
    return promise.get_future().get();
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<WatchEvent> events_;
  LoopThread loop_;
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace muster::testing
