#include "candidate/supervised_work.h"

#include <utility>

namespace muster {
namespace {

// The time to die of the last one comes after what a stop is given.
Duration sum_of_graces(const std::vector<ChildSpec>& children, Duration kill_margin) {
  Duration sum = -kill_margin;
  for (const ChildSpec& each : children) {
    sum += each.rules.shutdown.value_or(Duration{0}) + kill_margin;
  }
  return sum;
}

}  // namespace

SupervisedWork::SupervisedWork(EventLoop& loop, SupervisorOptions options,
                               std::vector<ChildSpec> children, Supervisor::Callbacks observer)
    : loop_(loop),
      kill_margin_(options.supervision.kill_margin),
      stop_time_(sum_of_graces(children, kill_margin_)),
      observer_(std::move(observer)),
      supervisor_(loop, std::move(options), std::move(children)) {}

void SupervisedWork::start(Epoch, std::shared_ptr<const LeaseGuard> guard,
                           std::function<void()> on_ready,
                           std::function<void(std::string why)> on_failed) {
  receipt_.reset();
  done_ = nullptr;
  waiting_ = nullptr;
  if (held_) {
    waiting_ = [this, guard = std::move(guard), on_ready = std::move(on_ready),
                on_failed = std::move(on_failed)]() mutable {
      start(Epoch(), std::move(guard), std::move(on_ready), std::move(on_failed));
    };
    return;
  }
  if (observer_.starting) observer_.starting();
  supervisor_.start(std::move(guard),
                    {.ready =
                         [this, on_ready = std::move(on_ready)] {
                           if (observer_.ready) observer_.ready();
                           on_ready();
                         },
                     .child_started = observer_.child_started,
                     .child_ended = observer_.child_ended,
                     .child_left = observer_.child_left,
                     .ending =
                         [this, on_failed = std::move(on_failed)](const TreeEnd& end) {
                           if (observer_.ending) observer_.ending(end);
                           on_failed(end.message);
                         },
                     .ended = [this](const TreeEnd& end) { ended(end); },
                     .unkillable = observer_.unkillable});
}

void SupervisedWork::stop(MonoTime by, std::function<void(bool receipt)> done) {
  done_ = std::move(done);
  if (std::exchange(waiting_, nullptr)) receipt_ = true;
  if (receipt_) return report();
  // The supervisor kills a margin before the time it is given; here all of `by` is for those who
  // end when they are asked, and the margin after it for dying.
  supervisor_.stop(by + kill_margin_);
}

void SupervisedWork::deadline_moved(MonoTime) {
  // The guard has been moved, or closed, before this call.
  supervisor_.deadline_moved();
}

void SupervisedWork::let_start() {
  held_ = false;
  if (const auto waiting = std::exchange(waiting_, nullptr)) waiting();
}

void SupervisedWork::kill() {
  supervisor_.stop(loop_.now());
}

void SupervisedWork::ended(const TreeEnd& end) {
  receipt_ = end.receipt.ok();
  if (observer_.ended) observer_.ended(end);
  if (done_) report();
}

void SupervisedWork::report() {
  std::exchange(done_, nullptr)(*receipt_);
}

}  // namespace muster
