#include "store/remote/loop_queue.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <utility>

namespace muster::remote {

LoopQueue::LoopQueue(EventLoop& loop, std::unique_ptr<grpc::CompletionQueue> queue)
    : loop_(loop), queue_(std::move(queue)), alarm_(std::make_unique<grpc::Alarm>()) {
  loop_.wait_in(this);
}

LoopQueue::~LoopQueue() {
  loop_.wait_in(nullptr);
  deliver();
  queue_->Shutdown();
  while (queue_->Next(&found_.tag, &found_.ok)) {
    found_.any = true;
    deliver();
  }
}

void LoopQueue::work_until(const std::function<bool()>& done) {
  deliver();
  while (!done()) {
    wait(MonoTime::max());
    deliver();
  }
}

void LoopQueue::wait(MonoTime by) {
  gpr_timespec limit = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  if (by == MonoTime::min()) {
    limit = gpr_inf_past(GPR_CLOCK_MONOTONIC);
  } else if (by != MonoTime::max()) {
    limit = gpr_time_from_nanos((by - loop_.now()).count(), GPR_TIMESPAN);
  }
  found_.any =
      queue_->AsyncNext(&found_.tag, &found_.ok, limit) == grpc::CompletionQueue::GOT_EVENT;
}

// Nothing of this object is touched after the call: it may have ended it.
void LoopQueue::deliver() {
  if (!std::exchange(found_.any, false)) return;
  if (found_.tag == nullptr) return alarmed_.store(false);
  static_cast<Completion*>(found_.tag)->complete(found_.ok);
}

void LoopQueue::wake() {
  // An alarm that has rung already is the one thing that wakes the queue from any thread.
  if (alarmed_.exchange(true)) return;
  alarm_->Set(queue_.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), nullptr);
}

}  // namespace muster::remote
