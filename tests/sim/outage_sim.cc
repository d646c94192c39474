#include "tests/sim/outage_sim.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace muster::sim {
namespace {

// Two hosts slewed by this in opposite directions are what the default drift allows for.
constexpr double kSlew = 0.083;
constexpr int kOutages = 6;

CoordinatorOptions some_options(Random& random) {
  CoordinatorOptions options;
  options.pod = "pod";
  // What most people run.
  if (random.chance(0.4)) return options;
  const auto ms = [](Duration d) { return std::chrono::milliseconds(to_ms(d)); };
  options.lease_timeout = ms(random.between(4s, 60s));
  options.heartbeat_interval = ms(options.lease_timeout / static_cast<int>(3 + random.below(10)));
  options.heartbeat_jitter = options.heartbeat_interval / 5;
  options.worker_timeout = ms(5 * options.heartbeat_interval + options.lease_timeout);
  options.circuit_breaker.failure_threshold = static_cast<std::uint32_t>(1 + random.below(5));
  options.circuit_breaker.reset_timeout = random.between(1s, 5min);
  options.circuit_breaker.half_open_max_attempts = static_cast<std::uint32_t>(1 + random.below(3));
  return options;
}

}  // namespace

OutageSim::OutageSim(std::uint64_t seed, bool trace)
    : world_(seed), trace_(trace), options_(some_options(world_.random())) {
  MUSTER_CHECK(options_.validate().ok());
  shared_->conditional_remove = world_.random().chance(0.5);
  const std::uint64_t count = 1 + world_.random().below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    Worker worker;
    worker.name = std::string("w") + static_cast<char>('a' + i);
    workers_.push_back(std::move(worker));
  }
}

void OutageSim::start(Worker& worker) {
  Random& random = world_.random();
  worker.process = std::make_unique<Process>(world_, 1 - kSlew + 2 * kSlew * random.unit(),
                                             random.between(0s, 2h));
  worker.store = std::make_unique<FaultyStore>(world_, *worker.process, shared_);
  CoordinatorOptions options = options_;
  options.worker_id = WorkerId(worker.name);
  worker.coordinator = std::make_unique<NamespaceCoordinator>(
      "sim", options,
      NamespaceCoordinator::Surroundings{
          *worker.process, *worker.process, *worker.store, Random(random.next()), {}});
  worker.coordinator->plugins().listen(
      [this, &worker](const CoordinatorEvent& event) { on_event(worker, event); });
  worker.process->post([&worker] { worker.coordinator->start(); });
}

void OutageSim::on_event(Worker& worker, const CoordinatorEvent& event) {
  say(worker.name + ": " + to_json(event));
  if (std::holds_alternative<TermBeganEvent>(event)) ++report_.terms;
  const auto* ended = std::get_if<TermEndedEvent>(&event);
  if (ended && worker.outlived == ended->epoch) {
    violate(worker.name + " lost a term whose lease had outlived the outage");
  }
}

// So long by a clock that is as slow as is allowed.
Duration OutageSim::real(Duration by_slowest_clock) const {
  return scale(by_slowest_clock, 1 / (1 - kSlew));
}

void OutageSim::have_outage() {
  Random& random = world_.random();
  const Kind kind = static_cast<Kind>(random.below(4));
  const Duration length = random.between(
      1s, random.chance(0.5) ? options_.lease_timeout / 2 : 3 * options_.lease_timeout);
  begin_outage(kind, length);
  let_pass(length);
  expect_contention(kind, length);
  end_outage();
  // What was sent in the outage may arrive after it.
  const Duration late = kind == Kind::kSlow ? 2 * shared_->faults.latency_max : 0s;
  shared_->faults = StoreFaults();
  // The last request in vain ends, the next heartbeat comes, and at worst the longest lease that
  // may be running must be waited out from there.
  const LeaseTimings timings = options_.timings();
  const Duration heartbeat = options_.heartbeat_interval + options_.heartbeat_jitter;
  const Duration within = real(timings.request_timeout + heartbeat + options_.lease_timeout) + 2s;
  expect_recovery(late, within);
  expect_files(real(2 * heartbeat + options_.worker_timeout));
}

void OutageSim::begin_outage(Kind kind, Duration length) {
  Random& random = world_.random();
  StoreFaults faults;
  std::string what;
  switch (kind) {
    case Kind::kSilent:
      what = "is silent";
      faults.down = true;
      break;
    case Kind::kSlow:
      what = "is slow";
      faults.latency_min = real(options_.timings().request_timeout);
      faults.latency_max = 2 * faults.latency_min;
      break;
    case Kind::kFailing:
      what = "fails";
      faults.error_before = 1;
      break;
    case Kind::kThrottled:
      faults.throttled = 1;
      faults.throttles_writes_only = random.chance(0.5);
      faults.retry_after = random.chance(0.5) ? random.between(1s, 1min) : random.between(1min, 4h);
      what = std::string("throttles ") +
             (faults.throttles_writes_only ? "writes" : "all requests") + ", and asks for " +
             format_duration(faults.retry_after);
  }
  say("the store " + what + ", for " + format_duration(length));
  shared_->faults = faults;
  for (Worker& worker : workers_) {
    worker.outlived.reset();
    worker.contentions_before = worker.coordinator->metrics().contention_events;
  }
}

void OutageSim::end_outage() {
  say("the store is well");
  const Duration needed = options_.heartbeat_interval + options_.heartbeat_jitter +
                          2 * options_.timings().request_timeout + 2s;
  for (Worker& worker : workers_) {
    worker.file_before = file_revision(worker);
    if (worker.coordinator->lease_left() > needed) worker.outlived = worker.coordinator->epoch();
  }
}

void OutageSim::expect_recovery(Duration after, Duration within) {
  let_pass(after);
  const TrueTime until = world_.now() + within;
  while (!somebody_leads() && world_.now() < until) let_pass(100ms);
  if (!somebody_leads()) {
    violate("nobody leads " + format_duration(within) + " after the outage of the store");
  }
}

// Where no request is answered in time, no heartbeat succeeds.
void OutageSim::expect_contention(Kind kind, Duration length) {
  if (kind != Kind::kSlow && kind != Kind::kSilent) return;
  const Duration heartbeat = options_.heartbeat_interval + options_.heartbeat_jitter;
  const Duration noticed = scale(heartbeat, options_.contention.threshold) + heartbeat +
                           3 * options_.timings().request_timeout + 2s;
  if (length < real(noticed)) return;
  for (const Worker& worker : workers_) {
    if (worker.coordinator->metrics().contention_events > worker.contentions_before) continue;
    violate("the store was slow for " + format_duration(length) + ", and " + worker.name +
            " reported no contention");
  }
}

void OutageSim::expect_files(Duration within) {
  let_pass(within);
  for (const Worker& worker : workers_) {
    // A leader's renewals say that it is there.
    if (worker.coordinator->leads() || file_revision(worker) > worker.file_before) continue;
    violate("the file of " + worker.name + " was not written within " + format_duration(within) +
            " after the outage of the store");
  }
}

void OutageSim::let_pass(Duration time) {
  world_.run(world_.now() + time, [this] {
    ++report_.events;
    check_one_leader();
    return report_.violation.empty();
  });
}

std::uint64_t OutageSim::file_revision(const Worker& worker) const {
  const auto it = shared_->objects->entries().find(keys_.worker(WorkerId(worker.name)));
  return it == shared_->objects->entries().end() ? 0 : it->second.revision;
}

bool OutageSim::somebody_leads() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const Worker& worker) { return worker.coordinator->leads(); });
}

void OutageSim::check_one_leader() {
  const Worker* leader = nullptr;
  for (const Worker& worker : workers_) {
    if (!worker.coordinator || !worker.coordinator->leads()) continue;
    if (leader) violate(leader->name + " and " + worker.name + " lead at the same time");
    leader = &worker;
  }
}

void OutageSim::violate(const std::string& what) {
  if (report_.violation.empty()) report_.violation = what;
  say("VIOLATION: " + what);
}

void OutageSim::say(const std::string& what) {
  if (!trace_) return;
  char head[32];
  std::snprintf(head, sizeof head, "%10.3f  ", static_cast<double>(to_ms(world_.now())) / 1000);
  report_.trace.push_back(head + what);
}

SimReport OutageSim::run() {
  for (Worker& worker : workers_) start(worker);
  expect_recovery(real(options_.startup_jitter_max), real(options_.lease_timeout) + 2s);
  for (int i = 0; i < kOutages && report_.violation.empty(); ++i) {
    let_pass(world_.random().between(1s, 3 * options_.heartbeat_interval));
    have_outage();
  }
  report_.simulated = world_.now();
  for (Worker& worker : workers_) worker.process->kill();
  return std::move(report_);
}

}  // namespace muster::sim
