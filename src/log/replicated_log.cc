#include "log/replicated_log.h"

#include <utility>

#include "log/replica.h"

namespace muster::rlog {

ReplicatedLog::ReplicatedLog(Options options, Surroundings surroundings)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(surroundings))) {}
ReplicatedLog::~ReplicatedLog() = default;

void ReplicatedLog::open(Callback<Done> done) {
  impl_->open(std::move(done));
}
void ReplicatedLog::lead(Epoch epoch, Incarnation incarnation, Callback<Done> done) {
  impl_->lead(epoch, std::move(incarnation), std::move(done));
}
void ReplicatedLog::append(std::string command, Callback<Ack> done) {
  impl_->append(std::move(command), std::move(done));
}
void ReplicatedLog::retire(Callback<Done> done) {
  impl_->retire(std::move(done));
}
bool ReplicatedLog::leads() const {
  return impl_->leads();
}
void ReplicatedLog::read_barrier(Callback<Index> done) {
  impl_->read_barrier(std::move(done));
}
Index ReplicatedLog::applied() const {
  return impl_->position().index;
}
Index ReplicatedLog::head_seen() const {
  return impl_->head_seen();
}
const Position& ReplicatedLog::position() const {
  return impl_->position();
}
std::optional<MonoTime> ReplicatedLog::unanswered_since() const {
  return impl_->unanswered_since();
}

MonoTime ReplicatedLog::last_contact() const {
  return impl_->last_contact();
}
const std::string& ReplicatedLog::log_id() const {
  return impl_->log_id();
}
void ReplicatedLog::compact(Callback<Index> done) {
  impl_->compact(std::move(done));
}
void ReplicatedLog::seal(Seal seal, Callback<Index> done) {
  impl_->seal(std::move(seal), std::move(done));
}

}  // namespace muster::rlog
