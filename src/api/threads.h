#pragma once

#include <functional>

#include "platform/event_loop.h"

namespace muster::api {

/// Runs `end` on a thread of its own, one after the other: for objects whose last handle was
/// destroyed on one of their own threads, which cannot join itself. The thread starts with the
/// first of them, and ends with the process.
void end_elsewhere(std::function<void()> end);

/// The thread on which the program's callbacks run. Threads: any.
class CallbackThread {
 public:
  /// Runs `task` after those before it; what it throws is logged.
  void post(std::function<void()> task);
  [[nodiscard]] Loop& loop() { return thread_.loop(); }
  [[nodiscard]] bool here() const { return thread_.on_thread(); }
  /// Returns when everything posted before has run. Not for callbacks.
  void wait() {
    thread_.run([] {});
  }

 private:
  LoopThread thread_;
};

}  // namespace muster::api
