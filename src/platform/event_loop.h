#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/mutex.h"
#include "platform/unique_fd.h"

namespace muster {

/// The real loop: epoll, timers on CLOCK_BOOTTIME, so that a deadline passes during suspend too.
/// post() is for any thread, everything else for the thread that runs the loop (or before run()).
/// The queue of posted tasks is unbounded: its producers must bound it.
class EventLoop final : public Loop {
 public:
  EventLoop();
  ~EventLoop() override;

  [[nodiscard]] MonoTime now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void post(Task task) override MUSTER_EXCLUDES(mutex_);
  TimerId at(MonoTime when, Task task) override;
  void cancel(TimerId id) override;

  /// Calls `ready` with the epoll events whenever `fd` has one of `events`, until unwatch().
  void watch_fd(int fd, std::uint32_t events, std::function<void(std::uint32_t)> ready);
  void unwatch_fd(int fd);
  /// A patient descriptor is looked at every 100 us and not at once, so that what comes meanwhile
  /// is dealt with together. One that was silent for so long is heard at once again. Descriptors
  /// are impatient until they are told otherwise, and again after unwatch_fd(). Others, timers and
  /// tasks do not wait for patient ones. `fd` is watched.
  void set_patient(int fd, bool patient);

  /// Runs until stop(). Tasks still queued then are dropped with the loop.
  void run();
  /// Runs until stop() or until `by`; true when stopped.
  bool run_until(MonoTime by);
  /// One round: runs what is due, waits for something to happen, until `by` at most, and serves it.
  void run_once(MonoTime by);
  /// Any thread, and signal handlers' threads; not a signal handler itself.
  void stop();

 private:
  /// False when there was nothing to run.
  bool run_tasks() MUSTER_EXCLUDES(mutex_);
  void run_timers();
  [[nodiscard]] MonoTime next_deadline(MonoTime limit) const;
  void set_alarm(MonoTime when);
  void wait(MonoTime limit) MUSTER_EXCLUDES(mutex_);
  /// False when there is something to do already.
  [[nodiscard]] bool fall_asleep() MUSTER_EXCLUDES(mutex_);
  void awake() MUSTER_EXCLUDES(mutex_);
  void wait_patiently() MUSTER_EXCLUDES(mutex_);
  /// False when nothing had happened.
  bool serve_descriptors(const UniqueFd& epoll, int timeout_ms) MUSTER_EXCLUDES(mutex_);
  void control(int operation, int fd, std::uint32_t events);

  UniqueFd epoll_;
  UniqueFd patient_epoll_;  ///< Of the patient descriptors alone.
  UniqueFd wake_;
  UniqueFd alarm_;
  std::optional<MonoTime> alarm_at_;  ///< What the alarm is set to; empty once it has rung.
  std::atomic<bool> stopped_{false};
  Mutex mutex_;
  std::vector<Task> tasks_ MUSTER_GUARDED_BY(mutex_);
  bool asleep_ MUSTER_GUARDED_BY(mutex_) = false;  ///< A post must wake the loop.
  TimerId next_timer_ = 1;
  std::map<std::pair<MonoTime, TimerId>, Task> timers_;
  std::unordered_map<TimerId, MonoTime> timer_times_;
  struct Watched {
    std::function<void(std::uint32_t)> ready;
    std::uint32_t events;
    bool patient;
  };
  std::unordered_map<int, std::shared_ptr<Watched>> watched_;
  std::size_t patient_count_ = 0;
  bool patient_busy_ = false;  ///< The last look at the patient ones found something.
  MonoTime patient_at_{};      ///< When the next one is due.
};

/// An EventLoop on a thread of its own. Destroying it, from another thread, stops the loop and
/// joins the thread.
class LoopThread {
 public:
  LoopThread() : thread_([this] { loop_.run(); }) {}
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  [[nodiscard]] EventLoop& loop() { return loop_; }
  /// Runs `task` on the loop and waits for it. Not from the loop itself.
  void run(const std::function<void()>& task);
  [[nodiscard]] bool on_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  EventLoop loop_;
  std::thread thread_;
};

}  // namespace muster
