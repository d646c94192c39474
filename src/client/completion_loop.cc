#include "client/completion_loop.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <algorithm>
#include <future>

#include "base/check.h"
#include "platform/system_clock.h"

namespace muster::client {

struct CompletionLoop::Operation {
  std::function<void(bool)> done;
};

CompletionLoop::CompletionLoop()
    : queue_(std::make_unique<grpc::CompletionQueue>()),
      alarm_(std::make_unique<grpc::Alarm>()),
      thread_([this] { serve(); }) {}

CompletionLoop::~CompletionLoop() {
  // Client's destructor has looked before; no server's answer leads here.
  MUSTER_CHECK(!on_thread());
  post([this] { stopping_ = true; });
  thread_.join();
}

MonoTime CompletionLoop::now() const {
  return boot_now();
}

WallTime CompletionLoop::wall_now() const {
  return system_wall_now();
}

void CompletionLoop::post(Task task) {
  const MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  if (std::exchange(woken_, true)) return;
  // An alarm that has rung already is the one thing that wakes the queue from any thread.
  alarm_->Set(queue_.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), nullptr);
}

Loop::TimerId CompletionLoop::at(MonoTime when, Task task) {
  const TimerId id = next_timer_++;
  timers_.emplace(std::pair(when, id), std::move(task));
  timer_times_.emplace(id, when);
  return id;
}

void CompletionLoop::cancel(TimerId id) {
  const auto found = timer_times_.find(id);
  if (found == timer_times_.end()) return;
  timers_.erase({found->second, id});
  timer_times_.erase(found);
}

void* CompletionLoop::tag(std::function<void(bool)> done) {
  ++operations_;
  return new Operation{std::move(done)};
}

void CompletionLoop::run(const std::function<void()>& task) {
  // Runtime::run asks first, and runs the task at once where this would wait for itself.
  MUSTER_CHECK(!on_thread());
  std::promise<void> ran;
  post([&] {
    task();
    ran.set_value();
  });
  ran.get_future().wait();
}

void CompletionLoop::run_tasks() {
  std::vector<Task> tasks;
  {
    const MutexLock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) {
    task();
    task = nullptr;  // What it holds may have to go before the next one runs.
  }
}

void CompletionLoop::run_timers() {
  const MonoTime time = now();
  while (!timers_.empty() && timers_.begin()->first.first <= time) {
    auto first = timers_.extract(timers_.begin());
    timer_times_.erase(first.key().second);
    first.mapped()();
  }
}

void CompletionLoop::await_operation() {
  gpr_timespec limit = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  if (!timers_.empty()) {
    const Duration left = std::max<Duration>(timers_.begin()->first.first - now(), Duration(0));
    limit = gpr_time_from_nanos(left.count(), GPR_TIMESPAN);
  }
  void* tag = nullptr;
  bool ok = false;
  if (queue_->AsyncNext(&tag, &ok, limit) != grpc::CompletionQueue::GOT_EVENT) return;
  if (tag == nullptr) {  // The alarm.
    const MutexLock lock(mutex_);
    woken_ = false;
    return;
  }
  --operations_;
  const std::unique_ptr<Operation> operation(static_cast<Operation*>(tag));
  operation->done(ok);
}

void CompletionLoop::serve() {
  while (!stopping_ || operations_ > 0) {
    await_operation();
    run_tasks();
    run_timers();
  }
  // Nobody posts any more, but an alarm may still be on its way.
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  // Every other tag is counted in operations_, of which there are none left.
  while (queue_->Next(&tag, &ok)) MUSTER_CHECK(tag == nullptr);
}

}  // namespace muster::client
