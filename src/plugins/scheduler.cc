#include "plugins/scheduler.h"

#include <algorithm>
#include <cctype>
#include <exception>
#include <utility>

#include "base/log.h"

namespace muster {
namespace {

constexpr std::uint64_t kAttemptsMax = 3;

bool is_job_name(const std::string& name) {
  return !name.empty() && name.size() <= 128 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

std::chrono::milliseconds rounded_down_ms(Duration d) {
  return std::chrono::floor<std::chrono::milliseconds>(d);
}

/// Every due time in (after, until].
std::vector<WallTime> all_due(const CronExpression& cron, const TimeZone& zone, WallTime after,
                              WallTime until) {
  std::vector<WallTime> due;
  for (WallTime t = cron.next_after(after, zone); t <= until; t = cron.next_after(t, zone)) {
    due.push_back(t);
  }
  return due;
}

/// The latest `count` of them. Looks back from `until` in growing steps, because `after` may be
/// years ago.
std::vector<WallTime> latest_due(const CronExpression& cron, const TimeZone& zone, WallTime after,
                                 WallTime until, std::size_t count) {
  if (count == 0 || until <= after) return {};
  for (std::chrono::milliseconds back = 1min;; back *= 2) {
    const WallTime from = std::max(after, until - back);
    std::vector<WallTime> due = all_due(cron, zone, from, until);
    if (due.size() < count && from > after) continue;
    if (due.size() > count) due.erase(due.begin(), due.end() - static_cast<std::ptrdiff_t>(count));
    return due;
  }
}

}  // namespace

Scheduler::Scheduler(SyncStore& store, std::string name_space, Random random)
    : store_(store), name_space_(std::move(name_space)), random_(random) {}

Status Scheduler::add(ScheduledJob job) {
  if (!is_job_name(job.name)) return {Errc::kInvalid, "not a name for a job: " + job.name};
  const auto same = [&](const Job& other) { return other.spec.name == job.name; };
  if (std::any_of(jobs_.begin(), jobs_.end(), same)) {
    return {Errc::kInvalid, "there is a job " + job.name + " already"};
  }
  if (!job.run) return {Errc::kInvalid, "job " + job.name + " has nothing to run"};
  if (job.tolerance <= 0s || job.tolerance > 24h) {
    return {Errc::kInvalid, "job " + job.name + ": tolerance is not between 0 and 24 hours"};
  }
  const auto cron = CronExpression::parse(job.cron);
  if (!cron) return {cron.code(), "job " + job.name + ": " + cron.error().message};
  const auto zone = TimeZone::load(job.zone);
  if (!zone) return {zone.code(), "job " + job.name + ": " + zone.error().message};
  Key key = "plugin=scheduler/namespace=" + name_space_ + "/job=" + job.name + ".json";
  jobs_.push_back({std::move(job), *cron, *zone, std::move(key), {}, {}, {}});
  return Done{};
}

SchedulerMetrics Scheduler::metrics() const {
  MutexLock lock(metrics_mutex_);
  return metrics_;
}

void Scheduler::count(std::uint64_t SchedulerMetrics::*metric) {
  MutexLock lock(metrics_mutex_);
  ++(metrics_.*metric);
}

void Scheduler::on_become_coordinator(const LeaseGuard&) {
  for (Job& job : jobs_) job.known.reset();
}

void Scheduler::coordinator_work(const LeaseGuard& guard) {
  for (Job& job : jobs_) {
    if (guard.stopping()) return;
    work_on(job, guard);
  }
}

void Scheduler::work_on(Job& job, const LeaseGuard& guard) {
  if (!job.known && !load(job, guard)) return;
  // A replaced leader that has not noticed yet: the record is no longer its own to write.
  if (std::max(job.known->record.epoch, last_known_epoch()) > guard.epoch()) return;
  if (job.known->record.state == RunState::kClaimed && !settle_interrupted(job, guard)) return;

  const WallTime now = store_.clock().wall_now();
  const RunRecord& record = job.known->record;
  if (record.cron != job.spec.cron || record.zone != job.spec.zone) {
    // The due times that the new schedule would have had are nobody's missed runs.
    const Revision at = job.known->revision;
    if (!anchor(job, guard, std::max(record.last_due, now), Precondition::at(at))) return;
  }
  for (const WallTime due : due_runs(job, now)) {
    if (guard.stopping() || !run(job, due, 1, guard)) return;
  }
}

bool Scheduler::load(Job& job, const LeaseGuard& guard) {
  const WallTime now = store_.clock().wall_now();
  auto object = store_.get(job.key);
  if (object.is(Errc::kNotFound)) return anchor(job, guard, now, Precondition::absent());
  if (!object) {
    log_warn("cannot read a job's record",
             {{"namespace", name_space_}, {"job", job.spec.name}, {"why", object.error().message}});
    return false;
  }
  auto record = decode_whole(*object, decode_run_record);
  if (!record) {
    // What was claimed is lost. No due time before now is run, so none can be run again.
    log_error("a job's record is corrupt; its schedule restarts from now",
              {{"namespace", name_space_},
               {"job", job.spec.name},
               {"epoch", std::to_string(guard.epoch().value())},
               {"why", record.error().message}});
    return anchor(job, guard, now, Precondition::at(object->revision));
  }
  if (record->state == RunState::kClaimed && record->attempt == 1 &&
      record->nonce == job.unstarted) {
    // A claim of this process whose answer was lost: nothing was started, so nothing was claimed.
    record->state = RunState::kScheduled;
    record->last_due = record->previous_due;
  } else if (record->state == RunState::kClaimed && record->nonce == job.started) {
    record->state = job.ended;
  }
  job.known = Known{*record, object->revision};
  if (record->epoch > guard.epoch()) {
    count(&SchedulerMetrics::refused);
    count_epoch_drift();
    log_warn("a job's record has a higher epoch; not changing it",
             {{"namespace", name_space_},
              {"job", job.spec.name},
              {"epoch", std::to_string(guard.epoch().value())},
              {"record_epoch", std::to_string(record->epoch.value())}});
  }
  return true;
}

bool Scheduler::anchor(Job& job, const LeaseGuard& guard, WallTime last_due, Precondition when) {
  return write(job,
               {job.spec.cron, job.spec.zone, last_due, last_due, guard.epoch(), 1,
                Nonce(random_.uuid()), RunState::kScheduled},
               std::move(when));
}

bool Scheduler::settle_interrupted(Job& job, const LeaseGuard& guard) {
  RunRecord record = job.known->record;
  const bool again =
      job.spec.interrupted == InterruptedRuns::kRerun && record.attempt < kAttemptsMax;
  log_warn("a run was claimed, but its end was never reported",
           {{"namespace", name_space_},
            {"job", job.spec.name},
            {"epoch", std::to_string(guard.epoch().value())},
            {"claim_epoch", std::to_string(record.epoch.value())},
            {"due_ms", std::to_string(to_ms(record.last_due))},
            {"then", again ? "rerun" : "skip"}});
  if (again) {
    if (!run(job, record.last_due, record.attempt + 1, guard)) return false;
  } else {
    record.state = RunState::kInterrupted;
    record.epoch = guard.epoch();
    record.nonce = Nonce(random_.uuid());
    if (!write(job, record, Precondition::at(job.known->revision))) return false;
  }
  count(&SchedulerMetrics::interrupted);
  return true;
}

std::vector<WallTime> Scheduler::due_runs(const Job& job, WallTime now) const {
  const WallTime last = job.known->record.last_due;
  // Also the answer when the clock was set back: what is decided stays decided.
  if (job.cron.next_after(last, job.zone) > now) return {};
  std::size_t keep = 0;
  if (job.spec.missed == MissedRuns::kRunOnce) keep = 1;
  if (job.spec.missed == MissedRuns::kRunAll) keep = job.spec.run_all_max;
  const WallTime late = now - rounded_down_ms(job.spec.tolerance);
  std::vector<WallTime> due = latest_due(job.cron, job.zone, last, late, keep);
  const auto on_time = all_due(job.cron, job.zone, std::max(last, late), now);
  due.insert(due.end(), on_time.begin(), on_time.end());
  return due;
}

bool Scheduler::run(Job& job, WallTime due, std::uint64_t attempt, const LeaseGuard& guard) {
  const RunRecord before = job.known->record;
  // Claims that were not started share one nonce, so that any of them is known again when it
  // lands late. Each body is still unique: it differs in due time or epoch, or is the same claim.
  if (job.unstarted == Nonce{}) job.unstarted = Nonce(random_.uuid());
  RunRecord record{before.cron,   before.zone, due,           before.last_due,
                   guard.epoch(), attempt,     job.unstarted, RunState::kClaimed};
  if (attempt > 1) record.previous_due = before.previous_due;
  if (!write(job, record, Precondition::at(job.known->revision))) return false;
  if (attempt == 1 && job.cron.next_after(before.last_due, job.zone) < due) {
    count(&SchedulerMetrics::dropped);
    log_warn("missed runs are dropped", {{"namespace", name_space_},
                                         {"job", job.spec.name},
                                         {"after_ms", std::to_string(to_ms(before.last_due))},
                                         {"before_ms", std::to_string(to_ms(due))}});
  }
  const ScheduledRun run{job.spec.name, due, guard.epoch(), attempt, guard};
  // S08: the stamp is checked where the run is received, and without grace.
  if (guard.stopping() || !validate_epoch(run.epoch)) {
    count(&SchedulerMetrics::returned);
    if (attempt > 1) return false;  // Stays claimed, which the next leader takes for interrupted.
    record.state = RunState::kScheduled;
    record.last_due = record.previous_due;
    record.nonce = Nonce(random_.uuid());
    (void)write(job, record, Precondition::at(job.known->revision));  // It has said why not.
    return false;
  }
  job.started = std::exchange(job.unstarted, Nonce{});
  job.ended = record.state = execute(job, run);
  record.nonce = Nonce(random_.uuid());
  return write(job, record, Precondition::at(job.known->revision));
}

RunState Scheduler::execute(const Job& job, const ScheduledRun& run) {
  count(&SchedulerMetrics::started);
  std::string why = "threw an object that is not a std::exception";
  try {
    job.spec.run(run);
    return RunState::kSucceeded;
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
  }
  count(&SchedulerMetrics::failed);
  log_error("a scheduled run failed", {{"namespace", name_space_},
                                       {"job", run.job},
                                       {"epoch", std::to_string(run.epoch.value())},
                                       {"due_ms", std::to_string(to_ms(run.due))},
                                       {"why", why}});
  return RunState::kFailed;
}

bool Scheduler::write(Job& job, const RunRecord& record, Precondition when) {
  const std::string body = encode(record);
  auto revision = store_.put(job.key, body, std::move(when));
  if (revision.is(Errc::kConflict) || revision.is(Errc::kAmbiguous)) {
    // Transports resend unseen, so even a lost race may have been won by this very write.
    auto found = store_.get(job.key);
    if (found && found->body == body) revision = found->revision;
  }
  if (!revision) {
    log_warn("a job's record was not written", {{"namespace", name_space_},
                                                {"job", job.spec.name},
                                                {"epoch", std::to_string(record.epoch.value())},
                                                {"outcome", to_string(record.state)},
                                                {"why", revision.error().message}});
    job.known.reset();
    return false;
  }
  job.known = Known{record, *revision};
  return true;
}

}  // namespace muster
