#include "server/rpc/loop_queue.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <algorithm>
#include <utility>

namespace muster::remote {
namespace {

/// Bounds how long the loop is kept from its other work.
constexpr int kLooksMax = 256;
constexpr int kBusyTurnsMax = 64;
/// Bounds how long what is to be done before the loop sleeps waits for that.
constexpr int kTurnsAwakeMax = 32;

}  // namespace

LoopQueue::LoopQueue(EventLoop& loop, std::unique_ptr<grpc::CompletionQueue> queue)
    : loop_(loop), queue_(std::move(queue)), alarm_(std::make_unique<grpc::Alarm>()) {
  loop_.wait_in(this);
}

LoopQueue::~LoopQueue() {
  loop_.wait_in(nullptr);
  hurried_ = false;
  deliver();
  queue_->Shutdown();
  while (queue_->Next(&found_.tag, &found_.ok)) {
    found_.any = true;
    deliver();
  }
}

void LoopQueue::work_until(const std::function<bool()>& done) {
  hurried_ = false;
  deliver();
  while (!done()) {
    find(MonoTime::max());
    deliver();
  }
}

void LoopQueue::find(MonoTime by) {
  gpr_timespec limit = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  if (by == MonoTime::min()) {
    limit = gpr_inf_past(GPR_CLOCK_MONOTONIC);
  } else if (by != MonoTime::max()) {
    limit = gpr_time_from_nanos((by - loop_.now()).count(), GPR_TIMESPAN);
  }
  found_.any =
      queue_->AsyncNext(&found_.tag, &found_.ok, limit) == grpc::CompletionQueue::GOT_EVENT;
}

// gRPC looks at its sockets only when nothing is left on the queue, and then at one of them. A loop
// that is busy comes here seldom, and what has arrived, such as the answer that renews its lease,
// must not wait behind thousands of others: the longer the loop is busy, the more often it looks.
void LoopQueue::wait(MonoTime by) {
  hurried_ = by == MonoTime::min() || by <= loop_.now();
  busy_turns_ = hurried_ ? std::min(busy_turns_ + 1, kBusyTurnsMax) : 0;
  if (!before_sleep_.empty()) {
    // A turn that is hurried has done much already.
    if (!hurried_ && ++turns_awake_ < kTurnsAwakeMax) {
      find(MonoTime::min());
      if (found_.any) return;
    }
    turns_awake_ = 0;
    for (const auto& task : std::exchange(before_sleep_, {})) task();
  }
  find(hurried_ ? MonoTime::min() : by);
}

void LoopQueue::deliver() {
  int misses_left = busy_turns_;
  const std::weak_ptr<int> alive = lifetime_.token();
  for (int looks_left = kLooksMax;;) {
    if (std::exchange(found_.any, false)) {
      if (found_.tag == nullptr) {
        alarmed_.store(false);
      } else {
        static_cast<Completion*>(found_.tag)->complete(found_.ok);
      }
      // What was called may have ended this object.
      if (alive.expired()) return;
    } else if (--misses_left < 0) {
      return;
    }
    if (!hurried_ || --looks_left == 0) return;
    find(MonoTime::min());
  }
}

void LoopQueue::wake() {
  // An alarm that has rung already is the one thing that wakes the queue from any thread.
  if (alarmed_.exchange(true)) return;
  alarm_->Set(queue_.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), nullptr);
}

}  // namespace muster::remote
