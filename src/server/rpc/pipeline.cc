#include "server/rpc/pipeline.h"

#include <optional>
#include <utility>

namespace muster::rpc {
namespace {

/// Answers wait for others no longer than until so many are ready.
constexpr std::size_t kTogetherMax = 64;

}  // namespace

Pipeline::Pipeline(Loop& loop, CallPtr call, Options options, Handle handle)
    : call_(std::move(call)), options_(options), handle_(std::move(handle)), flush_(loop) {}

void Pipeline::run(Loop& loop, CallPtr call, Options options, Handle handle) {
  std::make_shared<Pipeline>(loop, std::move(call), options, std::move(handle))->read();
}

void Pipeline::read() {
  if (reading_ || ended_ || answers_.size() >= options_.ahead_max) return;
  reading_ = true;
  call_->read([self = shared_from_this()](const std::optional<std::string>& message) {
    self->reading_ = false;
    if (message) return self->handle(*message);
    self->ended_ = true;
    self->write();
  });
}

void Pipeline::handle(const std::string& message) {
  more_came_ = true;
  busy_ = busy_ || writing_;
  const std::uint64_t number = first_ + answers_.size();
  answers_.push_back({});
  handling_ = true;
  handle_(message, [self = shared_from_this(), number](Payload answer) {
    self->answers_[number - self->first_] = std::move(answer);
    if (!self->handling_) self->flush_soon();
  });
  handling_ = false;
  // Before anything is written, so that what has come in already is heard of first.
  read();
  flush_soon();
}

void Pipeline::flush_soon() {
  if (writing_ || !ready() || flush_.armed()) return;
  if (!busy_) return write();
  more_came_ = false;
  // A timer, because it rings after what has already come in was handled.
  flush_.arm(Duration::zero(), [self = shared_from_this()] {
    if (self->more_came_ && self->answers_.size() < kTogetherMax) return self->flush_soon();
    self->busy_ = self->answers_.size() > 1;
    self->write();
  });
}

Payload Pipeline::take() {
  if (!ready()) return {};
  Payload first = std::move(answers_.front());
  answers_.pop_front();
  ++first_;
  if (!options_.merge || !ready()) return first;
  std::string all = *first;
  while (ready()) {
    all += *answers_.front();
    answers_.pop_front();
    ++first_;
  }
  return payload(std::move(all));
}

void Pipeline::write() {
  if (writing_) return;
  Payload answer = take();
  if (!answer) {
    if (ended_ && answers_.empty()) call_->finish({});
    return;
  }
  writing_ = true;
  const auto written = [self = shared_from_this()] {
    self->writing_ = false;
    self->write();
    self->read();
  };
  if (ready()) return call_->write_ahead(std::move(answer), written);
  call_->write(std::move(answer), written);
}

}  // namespace muster::rpc
