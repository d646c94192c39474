#include <muster/leader.h>

#include <memory>
#include <utility>

#include "api/leadership.h"
#include "api/stop_bell.h"

namespace muster::api {
namespace {

pub::Status lead(const pub::Arbiter& arbiter, const std::string& name, const std::stop_token& stop,
                 const std::function<void(const pub::Term&)>& work, pub::LeaderOptions options) {
  const std::shared_ptr<Connection>& connection = Connection::of(arbiter);
  if (connection->in_callback()) return waits_for_callbacks("lead()");
  auto stood = LeadershipCore::stand(arbiter, name, std::move(options));
  if (!stood) return stood.error();
  LeadershipCore& core = **stood;
  /// Whatever `work` throws, the lease is released first.
  const std::shared_ptr<void> leave(nullptr, [&](void*) { core.end(); });
  const StopBell bell(*connection, stop, [&] { core.begin_stop(); });
  while (!stop.stop_requested()) {
    auto term = core.wait({}, Duration::max());
    if (!term && stop.stop_requested()) break;
    if (!term) return term.error();
    work(*term);
    if (term->valid()) break;
  }
  return pub::Done{};
}

}  // namespace
}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

using api::LeadershipCore;

Leadership::Leadership(std::shared_ptr<LeadershipCore> core) : core_(std::move(core)) {}
Leadership::Leadership(Leadership&&) noexcept = default;
Leadership& Leadership::operator=(Leadership&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->end();
  core_ = std::move(other.core_);
  return *this;
}
Leadership::~Leadership() {
  if (core_) core_->end();
}

Result<Leadership> Leadership::stand(const Arbiter& arbiter, const std::string& name,
                                     LeaderOptions options) {
  auto core = LeadershipCore::stand(arbiter, name, std::move(options));
  if (!core) return core.error();
  return Leadership(std::move(*core));
}

// A handle that was moved from takes part in nothing.
static Error moved_from() {
  return {Code::kInvalid, "this Leadership was moved from"};
}

Term Leadership::term() const {
  return core_ ? core_->term() : Term();
}
std::optional<Leader> Leadership::leader() const {
  return core_ ? core_->leader() : std::nullopt;
}
Result<Term> Leadership::wait(std::stop_token stop, Duration at_most) {
  if (!core_) return moved_from();
  return core_->wait(stop, at_most);
}
Status Leadership::step_down(const std::string& prefer) {
  if (!core_) return moved_from();
  return core_->step_down(prefer);
}
Status Leadership::stop() {
  return core_ ? core_->stop() : Status(Done{});
}
std::string Leadership::id() const {
  return core_ ? core_->id() : std::string();
}

Status lead(const Arbiter& arbiter, const std::string& name, std::stop_token stop,
            const std::function<void(const Term&)>& work, LeaderOptions options) {
  return api::lead(arbiter, name, stop, work, std::move(options));
}

MUSTER_END_NAMESPACE
