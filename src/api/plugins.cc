#include "api/plugins.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/counters.h"
#include "plugins/scheduler.h"
#include "plugins/ttl.h"

namespace muster::api {

class SchedulerCore : public SeatedPlugin<Scheduler> {
  using SeatedPlugin::SeatedPlugin;
};
class CountersCore : public SeatedPlugin<Counters> {
  using SeatedPlugin::SeatedPlugin;
};
class TtlCore : public SeatedPlugin<Ttl> {
  using SeatedPlugin::SeatedPlugin;
};

/// What a pub::TtlRecord is, with the store that it is kept in.
class TtlRecordCore {
 public:
  TtlRecordCore(std::shared_ptr<Connection> connection, TtlRecord record)
      : connection_(std::move(connection)), record_(std::move(record)) {}
  [[nodiscard]] TtlRecord& record() { return record_; }

 private:
  const std::shared_ptr<Connection> connection_;
  TtlRecord record_;
};

namespace {

constexpr Duration kTtlLeast = 1ms;

pub::Error plugin_moved_from() {
  return {pub::Code::kInvalid, "this handle of a plugin was moved from"};
}

ScheduledJob internal_job(pub::ScheduledJob job, const Clock& clock) {
  ScheduledJob made;
  made.name = std::move(job.name);
  made.cron = std::move(job.cron);
  made.zone = std::move(job.zone);
  if (job.run) {
    made.run = [run = std::move(job.run), &clock](const ScheduledRun& due) {
      const TermLease lease(due.guard, clock);
      run({due.job, to_ms(due.due), due.attempt, lease});
    };
  }
  made.missed = static_cast<MissedRuns>(job.missed);
  made.run_all_max = job.run_all_max;
  made.interrupted = static_cast<InterruptedRuns>(job.interrupted);
  made.tolerance = job.tolerance;
  return made;
}

pub::Result<std::shared_ptr<SchedulerCore>> start_scheduler(
    const pub::GlobalCoordinator& coordinator, std::vector<pub::ScheduledJob> jobs) {
  const CoordinatorCore::Core& core = CoordinatorCore::of(coordinator);
  if (!core) return coordinator_moved_from();
  if (jobs.empty()) return pub::Error{pub::Code::kInvalid, "a scheduler needs at least one job"};
  Connection& connection = *core->connection();
  auto plugin = std::make_shared<Scheduler>(connection.sync_store(), core->name());
  for (pub::ScheduledJob& job : jobs) {
    const Status added = plugin->add(internal_job(std::move(job), connection.loop()));
    if (!added) return to_public(added.error());
  }
  return seat_plugin<SchedulerCore>(core, std::move(plugin));
}

pub::Result<CounterOptions> internal_options(const pub::CounterOptions& wanted,
                                             const std::string& name_space) {
  for (const auto& [option, time] : {std::pair("fold_interval", wanted.fold_interval),
                                     std::pair("lane_retention", wanted.lane_retention)}) {
    if (pub::Status good = check_time(option, time, 1ms); !good) return good.error();
  }
  if (wanted.pages_max == 0) return pub::Error{pub::Code::kInvalid, "pages_max must not be 0"};
  return CounterOptions{name_space, wanted.fold_interval, wanted.pages_max, wanted.lane_retention};
}

pub::Status check_prefix(const std::string& prefix) {
  if (!prefix.empty() && !prefix.starts_with("plugin=")) return pub::Done{};
  return {pub::Code::kInvalid, "\"" + prefix +
                                   "\" cannot be the prefix of records; it is not empty and does "
                                   "not begin with plugin="};
}

pub::Result<TtlOptions> internal_options(pub::TtlOptions wanted) {
  TtlOptions options;
  if (pub::Status good = check_prefix(wanted.prefix); !good) return good.error();
  if (wanted.batch_max == 0) return pub::Error{pub::Code::kInvalid, "batch_max must not be 0"};
  if (pub::Status good = check_time("interval", wanted.interval, 1ms); !good) return good.error();
  if (pub::Status good = check_time("margin", wanted.margin, 0ms); !good) return good.error();
  if (wanted.sweep_after) {
    if (auto good = check_time("sweep_after", *wanted.sweep_after, 1ms); !good) return good.error();
  }
  options.prefix = std::move(wanted.prefix);
  options.batch_max = wanted.batch_max;
  options.interval = wanted.interval;
  options.margin = wanted.margin;
  options.sweep_after = wanted.sweep_after;
  if (wanted.expiry) {
    options.expiry =
        [expiry = std::move(wanted.expiry)](std::string_view body) -> std::optional<WallTime> {
      const auto at = expiry(std::string(body));
      return at ? std::optional(wall_from_ms(*at)) : std::nullopt;
    };
  }
  return options;
}

}  // namespace
}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

static_assert(static_cast<int>(MissedRuns::kRunAll) ==
              static_cast<int>(muster::MissedRuns::kRunAll));
static_assert(static_cast<int>(InterruptedRuns::kRerun) ==
              static_cast<int>(muster::InterruptedRuns::kRerun));

Scheduler::Scheduler(std::shared_ptr<api::SchedulerCore> core) : core_(std::move(core)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

Result<Scheduler> Scheduler::start(const GlobalCoordinator& coordinator,
                                   std::vector<ScheduledJob> jobs) {
  auto core = api::start_scheduler(coordinator, std::move(jobs));
  if (!core) return core.error();
  return Scheduler(std::move(*core));
}
SchedulerMetrics Scheduler::metrics() const {
  if (!core_) return {};
  const auto now = core_->plugin().metrics();
  return {now.started, now.failed, now.interrupted, now.dropped, now.returned, now.refused};
}
Status Scheduler::stop() {
  return core_ ? core_->stop() : Status(Done{});
}

Counters::Counters(std::shared_ptr<api::CountersCore> core) : core_(std::move(core)) {}
Counters::Counters(Counters&&) noexcept = default;
Counters& Counters::operator=(Counters&&) noexcept = default;
Counters::~Counters() = default;

Result<Counters> Counters::open(const GlobalCoordinator& coordinator, CounterOptions options) {
  const auto& inside = api::CoordinatorCore::of(coordinator);
  if (!inside) return api::coordinator_moved_from();
  auto filled = api::internal_options(options, inside->name());
  if (!filled) return filled.error();
  auto core = api::seat_plugin<api::CountersCore>(
      inside,
      std::make_shared<muster::Counters>(inside->connection()->sync_store(), std::move(*filled)));
  if (!core) return core.error();
  return Counters(std::move(*core));
}
Result<Counters> Counters::open(const Arbiter& arbiter, const std::string& name_space,
                                CounterOptions options) {
  if (auto good = validate_name("namespace", name_space); !good) {
    return api::to_public(good.error());
  }
  auto filled = api::internal_options(options, name_space);
  if (!filled) return filled.error();
  const auto& connection = api::Connection::of(arbiter);
  auto plugin = std::make_shared<muster::Counters>(connection->sync_store(), std::move(*filled));
  return Counters(std::make_shared<api::CountersCore>(connection, nullptr, std::move(plugin)));
}
Status Counters::add(const std::string& counter, std::int64_t amount) {
  if (!core_) return api::plugin_moved_from();
  return api::to_public(core_->plugin().add(counter, amount));
}
Result<std::int64_t> Counters::consolidated(const std::string& counter) {
  if (!core_) return api::plugin_moved_from();
  return api::to_public(core_->plugin().consolidated(counter));
}
Result<std::int64_t> Counters::read(const std::string& counter) {
  if (!core_) return api::plugin_moved_from();
  return api::to_public(core_->plugin().read(counter));
}
Status Counters::stop() {
  return core_ ? core_->stop() : Status(Done{});
}

bool is_tombstone(const std::string& body) {
  return muster::is_tombstone(body);
}

Ttl::Ttl(std::shared_ptr<api::TtlCore> core) : core_(std::move(core)) {}
Ttl::Ttl(Ttl&&) noexcept = default;
Ttl& Ttl::operator=(Ttl&&) noexcept = default;
Ttl::~Ttl() = default;

Result<Ttl> Ttl::start(const GlobalCoordinator& coordinator, TtlOptions options) {
  const auto& inside = api::CoordinatorCore::of(coordinator);
  if (!inside) return api::coordinator_moved_from();
  auto filled = api::internal_options(std::move(options));
  if (!filled) return filled.error();
  auto core = api::seat_plugin<api::TtlCore>(
      inside,
      std::make_shared<muster::Ttl>(inside->connection()->sync_store(), std::move(*filled)));
  if (!core) return core.error();
  return Ttl(std::move(*core));
}
TtlMetrics Ttl::metrics() const {
  if (!core_) return {};
  const auto now = core_->plugin().metrics();
  return {now.examined, now.removed,    now.kept,  now.conflicts,
          now.swept,    now.unresolved, now.passes};
}
Status Ttl::stop() {
  return core_ ? core_->stop() : Status(Done{});
}

TtlRecord::TtlRecord(std::shared_ptr<api::TtlRecordCore> core) : core_(std::move(core)) {}
TtlRecord::TtlRecord(TtlRecord&&) noexcept = default;
TtlRecord& TtlRecord::operator=(TtlRecord&&) noexcept = default;
TtlRecord::~TtlRecord() = default;

Result<TtlRecord> TtlRecord::create(const Arbiter& arbiter, const std::string& prefix,
                                    const std::string& fields, Duration ttl) {
  if (Status good = api::check_prefix(prefix); !good) return good.error();
  if (Status good = api::check_time("ttl", ttl, api::kTtlLeast); !good) return good.error();
  const auto& connection = api::Connection::of(arbiter);
  auto record = muster::TtlRecord::create(connection->sync_store(), prefix, fields, ttl);
  if (!record) return api::to_public(record.error());
  return TtlRecord(std::make_shared<api::TtlRecordCore>(connection, std::move(*record)));
}
Status TtlRecord::renew(Duration ttl) {
  if (!core_) return api::plugin_moved_from();
  if (Status good = api::check_time("ttl", ttl, api::kTtlLeast); !good) return good;
  return api::to_public(core_->record().renew(ttl));
}
Status TtlRecord::renew(Duration ttl, const std::string& fields) {
  if (!core_) return api::plugin_moved_from();
  if (Status good = api::check_time("ttl", ttl, api::kTtlLeast); !good) return good;
  return api::to_public(core_->record().renew(ttl, fields));
}
std::string TtlRecord::key() const {
  return core_ ? core_->record().key() : std::string();
}

MUSTER_END_NAMESPACE
