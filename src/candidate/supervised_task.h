#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "base/loop.h"
#include "base/result.h"
#include "elector/lease_guard.h"
#include "platform/event_loop.h"

namespace muster {

/// What a C++ task is given. It ends soon after `stop` was requested, and asks `guard` before each
/// effect.
struct TaskContext {
  std::stop_token stop;
  const LeaseGuard& guard;
  std::function<void()> ready;  ///< Any thread; only counts for a child that says so itself.
};

/// Leader-only work in this process, on a thread of its own. An error, or an exception, is a
/// failure that its restart policy judges.
using SupervisedTask = std::function<Status(const TaskContext&)>;

/// Leader-only work on the supervisor's own loop: timers and callbacks, no thread of its own. It
/// asks the guard before each effect, so that nothing of it takes effect after the deadline,
/// however late the loop runs; hence it needs no watchdog.
struct LoopTask {
  /// Begins. `failed`, called at most once and never from within start, ends it by itself; stop
  /// is not called then.
  std::function<void(std::shared_ptr<const LeaseGuard> guard, std::function<void(Error)> failed)>
      start;
  /// Ends it at once: nothing of it runs after this returns.
  std::function<void()> stop;
};

/// One run of one task. `ready` and `ended` are posted to the loop. Destroying it asks the task to
/// stop and waits for it, however long that takes; the watchdog limits it. Loop thread only.
class TaskRun {
 public:
  struct Callbacks {
    std::function<void()> ready{};
    std::function<void(Status)> ended{};  ///< The task has returned; the object may be destroyed.
  };
  TaskRun(Loop& loop, SupervisedTask task, std::shared_ptr<const LeaseGuard> guard,
          Callbacks callbacks);

  void request_stop() { thread_.request_stop(); }

 private:
  Lifetime lifetime_;
  std::jthread thread_;
};

/// Ends this process when work in it outlives its lease: a thread that ignores its stop cannot be
/// ended otherwise, and another node is about to start the same work. On a thread of its own, so
/// that a loop that hangs does not save the task. watch() and clear() are for one thread.
class TaskWatchdog {
 public:
  static constexpr int kExitCode = 71;

  TaskWatchdog() : timer_(thread_.loop()) {}
  ~TaskWatchdog();

  /// The process ends at `when`, unless that is moved or cleared before.
  void watch(MonoTime when);
  void clear();

 private:
  LoopThread thread_;
  Timer timer_;  ///< Of the watchdog's own loop.
};

}  // namespace muster
