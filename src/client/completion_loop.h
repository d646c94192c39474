#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/mutex.h"

namespace grpc {
class Alarm;
class CompletionQueue;
}  // namespace grpc

namespace muster::client {

/// A loop on one thread that also completes gRPC's operations: the only thread of a client.
///
/// Destroying it, from another thread, waits until gRPC has let go of every operation, so their
/// owners cancel them first; posted tasks that have not run by then are dropped. post() and now()
/// are for any thread, the rest for the loop's. The queue of posted tasks is unbounded: whoever
/// posts bounds itself.
class CompletionLoop final : public Loop {
 public:
  CompletionLoop();
  ~CompletionLoop() override;
  CompletionLoop(const CompletionLoop&) = delete;
  CompletionLoop& operator=(const CompletionLoop&) = delete;

  [[nodiscard]] MonoTime now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void post(Task task) override MUSTER_EXCLUDES(mutex_);
  TimerId at(MonoTime when, Task task) override;
  void cancel(TimerId id) override;

  [[nodiscard]] grpc::CompletionQueue* queue() { return queue_.get(); }
  /// For one operation on the queue: `done` gets its outcome and keeps alive what it writes to.
  [[nodiscard]] void* tag(std::function<void(bool)> done);
  /// Runs `task` on the loop and waits for it. Not from the loop itself.
  void run(const std::function<void()>& task);
  [[nodiscard]] bool on_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  struct Operation;

  void serve();
  void run_tasks() MUSTER_EXCLUDES(mutex_);
  void run_timers();
  void await_operation();

  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::unique_ptr<grpc::Alarm> alarm_;
  std::size_t operations_ = 0;  ///< That gRPC has not completed, the alarm's aside.
  bool stopping_ = false;
  Mutex mutex_;
  std::vector<Task> tasks_ MUSTER_GUARDED_BY(mutex_);
  bool woken_ MUSTER_GUARDED_BY(mutex_) = false;  ///< The alarm is set and has not been heard.
  TimerId next_timer_ = 1;
  std::map<std::pair<MonoTime, TimerId>, Task> timers_;
  std::unordered_map<TimerId, MonoTime> timer_times_;
  std::thread thread_;  ///< The last member: it uses all the others.
};

}  // namespace muster::client
