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

/// The arguments of a C++ task. The task must end soon after `stop` was requested, and check
/// `guard` before each effect.
struct TaskContext {
  std::stop_token stop;
  const LeaseGuard& guard;
  std::function<void()> ready;  ///< Any thread; only used by a child that reports readiness itself.
};

/// Leader-only work in this process, on a thread of its own. An error or an exception is a failure,
/// to which its restart policy applies.
using SupervisedTask = std::function<Status(const TaskContext&)>;

/// Leader-only work on the supervisor's own loop: timers and callbacks, without a thread. It must
/// check the guard before each effect, so that nothing takes effect after the deadline, however
/// late the loop runs. So it needs no watchdog.
struct LoopTask {
  /// Begins the work. Call `failed` at most once, and never within start, to end it; then stop is
  /// not called.
  std::function<void(std::shared_ptr<const LeaseGuard> guard, std::function<void(Error)> failed)>
      start;
  /// Ends the work at once: none of it runs after this returns.
  std::function<void()> stop;
};

/// One run of one task. `ready` and `ended` are posted to the loop. The destructor asks the task to
/// stop and waits for it without limit; the watchdog limits it. Threads: loop thread only.
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

/// Ends this process when its work outlives the lease: a thread that ignores its stop cannot be
/// ended otherwise, and another node is about to start the same work. It has a thread of its own,
/// so that a hung loop does not protect the task. Threads: one calls watch() and clear().
class TaskWatchdog {
 public:
  static constexpr int kExitCode = 71;

  TaskWatchdog() : timer_(thread_.loop()) {}
  ~TaskWatchdog();

  /// Ends the process at `when`, unless the time is moved or cleared before.
  void watch(MonoTime when);
  void clear();

 private:
  LoopThread thread_;
  Timer timer_;  ///< On the watchdog's own loop.
};

}  // namespace muster
