#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/test_store.h"

namespace muster {

/// A running watch and all it has reported. Any thread but the store's own.
class WatchLog {
 public:
  WatchLog(TestStore& store, const std::string& prefix, const std::string& cursor)
      : store_(store), events_(std::make_shared<Events>()) {
    watch_ = store.watch(prefix, cursor, [events = events_](const WatchEvent& event) {
      const std::lock_guard lock(events->mutex);
      events->seen.push_back(event);
      events->changed.notify_all();
    });
  }
  ~WatchLog() { end(); }
  WatchLog(const WatchLog&) = delete;
  WatchLog& operator=(const WatchLog&) = delete;

  /// Destroys the watch on its loop; after this no event may come.
  void end() {
    store_.thread().run([this] { watch_.reset(); });
  }
  [[nodiscard]] bool running() const { return watch_ != nullptr; }

  using EventList = std::vector<WatchEvent>;
  /// Waits until `enough` holds for what was seen; false after a generous time.
  bool wait(const std::function<bool(const EventList&)>& enough) {
    std::unique_lock lock(events_->mutex);
    return events_->changed.wait_for(lock, std::chrono::seconds(10),
                                     [&] { return enough(events_->seen); });
  }
  [[nodiscard]] EventList seen() {
    const std::lock_guard lock(events_->mutex);
    return events_->seen;
  }

 private:
  struct Events {
    std::mutex mutex;
    std::condition_variable changed;
    EventList seen;
  };

  TestStore& store_;
  std::shared_ptr<Events> events_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace muster
