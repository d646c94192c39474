#include "plugins/queue.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/plugins.h"

namespace muster::api {

class QueueCore : public SeatedPlugin<Queue> {
 public:
  using SeatedPlugin::SeatedPlugin;
  using Core = std::shared_ptr<QueueCore>;
  [[nodiscard]] pub::Status check_may_claim() const {
    if (coordinated()) return pub::Done{};
    return {pub::Code::kInvalid,
            "a queue that was opened on an arbiter only enqueues; open it on a GlobalCoordinator "
            "to run messages"};
  }
};

/// A claim with the queue that it is of: its own, or one that run_one() lends.
class ClaimCore {
 public:
  ClaimCore(QueueCore::Core queue, QueueClaim claim)
      : queue_(std::move(queue)), own_(std::move(claim)), claim_(&*own_) {}
  ClaimCore(QueueCore::Core queue, QueueClaim* lent) : queue_(std::move(queue)), claim_(lent) {}

  /// None once what was lent is taken back.
  [[nodiscard]] QueueClaim* claim() { return claim_; }
  [[nodiscard]] Queue& queue() { return queue_->plugin(); }
  [[nodiscard]] Duration left() {
    if (claim_ == nullptr || !claim_->guard().valid()) return Duration(0);
    return std::max(Duration(0), claim_->guard().deadline() - queue_->clock().now());
  }
  void take_back() { claim_ = nullptr; }

 private:
  const QueueCore::Core queue_;
  std::optional<QueueClaim> own_;
  QueueClaim* claim_;
};

namespace {

pub::Error queue_moved_from() {
  return {pub::Code::kInvalid, "this Queue was moved from"};
}

pub::Result<QueueOptions> internal_options(pub::QueueOptions wanted,
                                           const std::string& name_space) {
  if (Status good = validate_name("queue", wanted.name); !good) return to_public(good.error());
  for (const auto& [option, time] :
       {std::pair("dispatch_interval", wanted.dispatch_interval),
        std::pair("visibility_timeout", wanted.visibility_timeout),
        std::pair("backoff", wanted.backoff), std::pair("backoff_max", wanted.backoff_max),
        std::pair("tombstone_retention", wanted.tombstone_retention)}) {
    if (pub::Status good = check_time(option, time, 1ms); !good) return good.error();
  }
  for (const auto& [option, count] :
       {std::pair("window_max", wanted.window_max), std::pair("tickets_max", wanted.tickets_max),
        std::pair("changes_max", wanted.changes_max),
        std::pair("attempts_max", std::size_t{wanted.attempts_max})}) {
    if (count == 0) return pub::Error{pub::Code::kInvalid, std::string(option) + " must not be 0"};
  }
  if (!(wanted.drift >= 0 && wanted.drift <= 0.5)) {
    return pub::Error{pub::Code::kInvalid, "drift must be between 0 and 0.5"};
  }
  QueueOptions options;
  options.name_space = name_space;
  options.queue = std::move(wanted.name);
  options.dispatch_interval = wanted.dispatch_interval;
  options.window_max = wanted.window_max;
  options.tickets_max = wanted.tickets_max;
  options.changes_max = wanted.changes_max;
  options.visibility_timeout = wanted.visibility_timeout;
  options.drift = wanted.drift;
  options.attempts_max = wanted.attempts_max;
  options.backoff = wanted.backoff;
  options.backoff_max = wanted.backoff_max;
  options.tombstone_retention = wanted.tombstone_retention;
  return options;
}

/// The claim, unless it is over or was moved from.
template <typename Call>
pub::Status with_claim(const std::shared_ptr<ClaimCore>& core, Call call) {
  QueueClaim* const claim = core ? core->claim() : nullptr;
  if (claim == nullptr) return {pub::Code::kInvalid, "this QueueClaim is over, or was moved from"};
  return to_public(call(core->queue(), *claim));
}

}  // namespace
}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

QueueClaim::QueueClaim(std::shared_ptr<api::ClaimCore> core) : core_(std::move(core)) {}
QueueClaim::QueueClaim(QueueClaim&&) noexcept = default;
QueueClaim& QueueClaim::operator=(QueueClaim&&) noexcept = default;
QueueClaim::~QueueClaim() = default;

std::string QueueClaim::id() const {
  return core_ && core_->claim() ? core_->claim()->id() : std::string();
}
std::string QueueClaim::payload() const {
  return core_ && core_->claim() ? core_->claim()->payload() : std::string();
}
unsigned QueueClaim::attempt() const {
  return core_ && core_->claim() ? core_->claim()->attempt() : 0;
}
bool QueueClaim::valid() const {
  return core_ && core_->claim() && core_->claim()->guard().valid();
}
Duration QueueClaim::left() const {
  return core_ ? core_->left() : Duration(0);
}
Status QueueClaim::extend() {
  return api::with_claim(core_, [](auto& queue, auto& claim) { return queue.extend(claim); });
}
Status QueueClaim::acknowledge() {
  return api::with_claim(core_, [](auto& queue, auto& claim) { return queue.acknowledge(claim); });
}
Status QueueClaim::fail(const std::string& reason) {
  return api::with_claim(core_,
                         [&](auto& queue, auto& claim) { return queue.fail(claim, reason); });
}

Queue::Queue(std::shared_ptr<api::QueueCore> core) : core_(std::move(core)) {}
Queue::Queue(Queue&&) noexcept = default;
Queue& Queue::operator=(Queue&&) noexcept = default;
Queue::~Queue() = default;

Result<Queue> Queue::open(const GlobalCoordinator& coordinator, QueueOptions options) {
  const auto& inside = api::CoordinatorCore::of(coordinator);
  if (!inside) return api::coordinator_moved_from();
  auto filled = api::internal_options(std::move(options), inside->name());
  if (!filled) return filled.error();
  auto core = api::seat_plugin<api::QueueCore>(
      inside,
      std::make_shared<muster::Queue>(inside->connection()->sync_store(),
                                      WorkerId(coordinator.worker_id()), std::move(*filled)));
  if (!core) return core.error();
  return Queue(std::move(*core));
}
Result<Queue> Queue::open(const Arbiter& arbiter, const std::string& name_space,
                          QueueOptions options) {
  if (auto good = validate_name("namespace", name_space); !good) {
    return api::to_public(good.error());
  }
  auto filled = api::internal_options(std::move(options), name_space);
  if (!filled) return filled.error();
  const auto& connection = api::Connection::of(arbiter);
  auto plugin =
      std::make_shared<muster::Queue>(connection->sync_store(), WorkerId(), std::move(*filled));
  return Queue(std::make_shared<api::QueueCore>(connection, nullptr, std::move(plugin)));
}

Result<std::string> Queue::enqueue(const std::string& payload, const std::string& id) {
  if (!core_) return api::queue_moved_from();
  return api::to_public(core_->plugin().enqueue(payload, id));
}
std::string Queue::new_id() {
  return core_ ? core_->plugin().new_id() : std::string();
}

Result<std::optional<QueueClaim>> Queue::claim() {
  if (!core_) return api::queue_moved_from();
  if (Status may = core_->check_may_claim(); !may) return may.error();
  auto claimed = core_->plugin().claim();
  if (!claimed) return api::to_public(claimed.error());
  if (!*claimed) return std::optional<QueueClaim>();
  return std::optional(QueueClaim(std::make_shared<api::ClaimCore>(core_, std::move(**claimed))));
}

Result<bool> Queue::run_one(const std::function<Status(QueueClaim&)>& handler) {
  if (!core_) return api::queue_moved_from();
  if (Status may = core_->check_may_claim(); !may) return may.error();
  if (!handler) return Error{Code::kInvalid, "there is no handler to run a message"};
  return api::to_public(core_->plugin().run_one([&](muster::QueueClaim& claim) -> muster::Status {
    const auto lent = std::make_shared<api::ClaimCore>(core_, &claim);
    // The handler may have moved it away.
    const auto take_back = [&](void*) { lent->take_back(); };
    const std::unique_ptr<void, decltype(take_back)> after(lent.get(), take_back);
    QueueClaim shown(lent);
    const Status ran = handler(shown);
    if (!ran) return {Errc::kInvalid, ran.message()};
    return muster::Done{};
  }));
}

Result<std::vector<DeadLetter>> Queue::dead_letters() {
  if (!core_) return api::queue_moved_from();
  auto found = core_->plugin().dead_letters();
  if (!found) return api::to_public(found.error());
  std::vector<DeadLetter> letters;
  for (auto& each : *found) {
    letters.push_back({std::move(each.message.id), std::move(each.message.payload), each.attempts,
                       std::move(each.reason), to_ms(each.died_at), std::move(each.name)});
  }
  return letters;
}
Status Queue::discard(const DeadLetter& letter) {
  if (!core_) return api::queue_moved_from();
  if (letter.name.empty()) return {Code::kInvalid, "this letter is not of dead_letters()"};
  muster::queue::DeadLetter inner;
  inner.name = letter.name;
  return api::to_public(core_->plugin().discard(inner));
}
Status Queue::stop() {
  return core_ ? core_->stop() : Status(Done{});
}

MUSTER_END_NAMESPACE
