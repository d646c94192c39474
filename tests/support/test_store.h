#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "platform/event_loop.h"
#include "store/store.h"

namespace muster {

/// A store for code that may block: each call runs on the store's loop and waits for the answer.
/// A call that is never answered comes back as kCancelled, well after its deadline; one that is
/// answered twice ends the process.
///
/// One thread at a time, never the loop's own. `thread` must outlive this.
class TestStore {
 public:
  using Open = std::function<std::unique_ptr<ObjectStore>(EventLoop&)>;

  TestStore(LoopThread& thread, const Open& open) : thread_(thread) {
    thread_.run([&] { store_ = open(thread_.loop()); });
    MUSTER_CHECK(store_ != nullptr);
  }
  ~TestStore() { destroy(); }
  TestStore(const TestStore&) = delete;
  TestStore& operator=(const TestStore&) = delete;

  /// Ends the store on its own loop; nothing else may be called afterwards.
  void destroy() {
    thread_.run([this] { store_.reset(); });
  }

  Result<Object> get(const Key& key, const std::optional<Revision>& unless = {}) {
    return await<Object>(
        [&](Callback<Object> done) { store_->get(key, unless, deadline(), std::move(done)); });
  }
  Result<Revision> put(const Key& key, const std::string& body, const Precondition& when = {}) {
    return await<Revision>([&](Callback<Revision> done) {
      store_->put(key, body, when, deadline(), std::move(done));
    });
  }
  Result<Revision> guarded_put(const Key& key, const std::string& body, const Precondition& when,
                               const Guard& guard) {
    return await<Revision>([&](Callback<Revision> done) {
      store_->guarded_put(key, body, when, guard, deadline(), std::move(done));
    });
  }
  Status remove(const Key& key, const std::optional<Revision>& when = {}) {
    return await<Done>(
        [&](Callback<Done> done) { store_->remove(key, when, deadline(), std::move(done)); });
  }
  Result<ListPage> list(const std::string& prefix, const std::string& from = {}) {
    return await<ListPage>(
        [&](Callback<ListPage> done) { store_->list(prefix, from, deadline(), std::move(done)); });
  }
  Result<ListPage> list_all(const std::string& prefix) {
    return await<ListPage>([&](Callback<ListPage> done) {
      muster::list_all(*store_, prefix, thread_.loop(), patience, std::move(done));
    });
  }
  std::unique_ptr<Watch> watch(const std::string& prefix, const std::string& cursor,
                               std::function<void(const WatchEvent&)> on_event) {
    std::unique_ptr<Watch> watch;
    thread_.run([&] { watch = store_->watch(prefix, cursor, std::move(on_event)); });
    return watch;
  }
  [[nodiscard]] Capabilities capabilities() const { return store_->capabilities(); }

  /// Runs `call(done)` on the loop and waits until `done` was called.
  template <typename T>
  Result<T> await(const std::function<void(Callback<T>)>& call) {
    auto answer = std::make_shared<std::promise<Result<T>>>();
    auto answered = answer->get_future();
    thread_.run(
        [&] { call([answer](Result<T> result) { answer->set_value(std::move(result)); }); });
    const Duration limit = patience > 0s ? patience + kGrace : kGrace;
    if (answered.wait_for(limit) != std::future_status::ready)
      return {Errc::kCancelled, "the store did not answer by its deadline"};
    return answered.get();
  }

  [[nodiscard]] ObjectStore& store() { return *store_; }
  [[nodiscard]] LoopThread& thread() { return thread_; }
  [[nodiscard]] Deadline deadline() { return thread_.loop().now() + patience; }

  /// How long each call may take; a negative one is a deadline that has already passed.
  Duration patience = 10s;

 private:
  /// A loaded machine may run a completion late; no correct store needs as much as this.
  static constexpr Duration kGrace = 5s;

  LoopThread& thread_;
  std::unique_ptr<ObjectStore> store_;
};

}  // namespace muster
