#include "api/leadership.h"

#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "api/stop_bell.h"
#include "base/log.h"
#include "base/text.h"
#include "core/election/records.h"
#include "platform/host.h"
#include "platform/system_clock.h"

namespace muster::api {
namespace {

/// What a process ends with whose work outlived its lease, as a process of `muster run` does.
constexpr int kLost = 71;
/// A shorter one would be lost to the scheduler.
constexpr Duration kLeaseMin = 100ms;
/// Nobody waits for work for longer.
constexpr Duration kStopTimeMax = 24h;
/// A wait that is at least this long has no end.
constexpr Duration kForever = std::chrono::hours(24 * 365);

/// The ids that this process takes part with, by election. Two with one id would take each other
/// for a copy of themselves.
class Ids {
 public:
  static Ids& instance() {
    static Ids& ids = *new Ids();
    return ids;
  }
  Result<std::string> claim(const std::string& election, const std::string& wanted) {
    const std::lock_guard lock(mutex_);
    std::set<std::string>& taken = taken_[election];
    if (!wanted.empty()) {
      if (taken.insert(wanted).second) return wanted;
      return invalid("this process already takes part as " + wanted +
                     "; give each candidate of one name an id of its own");
    }
    const std::string usual = default_worker_id();
    std::string id = usual;
    for (int number = 2; !taken.insert(id).second; ++number) {
      id = usual + "-" + std::to_string(number);
    }
    return id;
  }
  void release(const std::string& election, const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(election);
    if (found == taken_.end()) return;
    found->second.erase(id);
    if (found->second.empty()) taken_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::set<std::string>> taken_;
};

std::string election_of(const Connection& connection, const std::string& name) {
  return connection.address() + "\n" + name;
}

pub::Error trouble_error(const telemetry::Trouble& trouble) {
  using Kind = telemetry::Trouble::Kind;
  switch (trouble.kind) {
    case Kind::kUnsafeStore:
      return {pub::Code::kUnsupported, trouble.message};
    case Kind::kDuplicateNode:
      return {pub::Code::kConflict, trouble.message};
    case Kind::kStateDamaged:
      return {pub::Code::kCorrupt, trouble.message};
    case Kind::kWorkStuck:
      return {pub::Code::kTimeout, trouble.message};
    case Kind::kBadControl:
      return {pub::Code::kInvalid, trouble.message};
    case Kind::kStoreUnreachable:
      return {pub::Code::kUnavailable, trouble.message};
  }
  return {pub::Code::kUnavailable, trouble.message};
}

}  // namespace

LeadershipCore::LeadershipCore(std::shared_ptr<Connection> connection, std::string name,
                               std::string id, pub::LeaderOptions options)
    : connection_(std::move(connection)),
      name_(std::move(name)),
      options_(std::make_shared<const pub::LeaderOptions>(std::move(options))),
      id_(std::move(id)) {}

LeadershipCore::~LeadershipCore() {
  if (!gone_) Ids::instance().release(election_of(*connection_, name_), id_);
}

pub::Result<LeadershipCore::Core> LeadershipCore::stand(const pub::Arbiter& arbiter,
                                                        const std::string& name,
                                                        pub::LeaderOptions options) {
  const std::shared_ptr<Connection>& connection = Connection::of(arbiter);
  if (Status good = validate_name("election name", name); !good) return to_public(good.error());
  if (options.lease < kLeaseMin) {
    return {pub::Code::kInvalid, "the lease must be at least " + format_duration(kLeaseMin)};
  }
  if (options.stop_time < Duration(0) || options.stop_time > kStopTimeMax) {
    return {pub::Code::kInvalid,
            "stop_time must be between 0 and " + format_duration(kStopTimeMax)};
  }
  CandidateOptions candidate;
  candidate.node = WorkerId(options.id.empty() ? default_worker_id() : options.id);
  candidate.pod = host_name();
  candidate.value = options.value;
  candidate.eligible = options.campaigns;
  candidate.lease = options.lease;
  if (Status good = candidate.validate(); !good) return to_public(good.error());
  auto id = Ids::instance().claim(election_of(*connection, name), options.id);
  if (!id) return to_public(id.error());
  candidate.node = WorkerId(*id);
  Core core(new LeadershipCore(connection, name, std::move(*id), std::move(options)));
  core->open(std::move(candidate));
  return core;
}

void LeadershipCore::open(CandidateOptions candidate) {
  const CandidateOptions full = candidate.filled();
  rules_ = std::make_shared<const TermRules>(TermRules{
      name_, id_, *full.stop_grace, full.kill_margin, options_->overrun == pub::Overrun::kExit});
  connection_->thread().run([&] {
    auto made = std::make_unique<Candidate>(
        name_, candidate,
        Candidate::Surroundings{connection_->loop(), connection_->store(), *this, system_random(),
                                [this](const telemetry::Event& event) { heard(event); },
                                [this, per_call = full.request_timeout](Callback<Done> done) {
                                  connection_->probe(per_call, std::move(done));
                                }});
    {
      const std::lock_guard lock(mutex_);
      candidate_ = std::move(made);
    }
    candidate_->start();
  });
}

// What the candidate asks of its work.

void LeadershipCore::start(Epoch, std::shared_ptr<const LeaseGuard> guard,
                           std::function<void()> on_ready, std::function<void(std::string)>) {
  running_ = std::make_shared<TermRecord>(std::move(guard), connection_->loop(), rules_);
  {
    const std::lock_guard lock(mutex_);
    term_ = running_;
    changed_.notify_all();
  }
  on_ready();
}

void LeadershipCore::stop(MonoTime by, std::function<void(bool)> done) {
  std::shared_ptr<TermRecord> term;
  {
    const std::lock_guard lock(mutex_);
    term = std::exchange(term_, nullptr);
  }
  if (!term) return done(true);
  // A term that is given up ends now. One whose lease is not renewed holds until its deadline:
  // what is under way may use the time.
  const LeaseGuard& guard = term->guard();
  const Duration stop_time = rules_->stop_budget + rules_->kill_margin;
  if (guard.valid() && connection_->loop().now() < guard.deadline() - stop_time) term->give_up();
  connection_->call_back([term] { term->stopping().request_stop(); });
  term->stop_guests(by);
  term->end([this, term, done = std::move(done)] {
    running_.reset();
    done(term->proven());
  });
}

void LeadershipCore::deadline_moved(MonoTime) {
  if (running_) running_->deadline_moved();
}

void LeadershipCore::heard(const telemetry::Event& event) {
  const auto* trouble = std::get_if<telemetry::Trouble>(&event.what);
  if (!trouble || !options_->on_trouble) telemetry::write_log(event, name_);
  if (trouble) heard(*trouble);
  if (options_->on_change) connection_->loop().post(life_.wrap([this] { tell_leader(); }));
}

void LeadershipCore::heard(const telemetry::Trouble& trouble) {
  using Kind = telemetry::Trouble::Kind;
  if (trouble.kind == Kind::kWorkStuck && options_->overrun == pub::Overrun::kExit) {
    log_error("the work outlived its lease: this process ends", {{"election", name_}});
    std::_Exit(kLost);
  }
  const pub::Error error = trouble_error(trouble);
  if (trouble.kind == Kind::kUnsafeStore) {
    const std::lock_guard lock(mutex_);
    unfit_ = error;
    changed_.notify_all();
  }
  if (!options_->on_trouble) return;
  connection_->call_back([options = options_, error] { options->on_trouble(error); });
}

void LeadershipCore::tell_leader() {
  const auto now = candidate_->seen_leader();
  if (std::exchange(told_leader_, now) == now) return;
  std::optional<pub::Leader> leader;
  if (now) leader = pub::Leader{now->worker.value(), now->value, now->epoch.value()};
  connection_->call_back([options = options_, leader] { options->on_change(leader); });
}

// What the program asks.

pub::Term LeadershipCore::take_term() {
  if (!term_ || !term_->valid() || !term_->hold()) return {};
  return pub::Term(std::make_shared<TermHold>(connection_, term_));
}

pub::Term LeadershipCore::term() {
  const std::lock_guard lock(mutex_);
  return take_term();
}

std::optional<pub::Leader> LeadershipCore::leader() {
  const std::lock_guard lock(mutex_);
  if (!candidate_) return {};
  const auto seen = candidate_->seen_leader();
  if (!seen) return {};
  return pub::Leader{seen->worker.value(), seen->value, seen->epoch.value()};
}

pub::Result<pub::Term> LeadershipCore::wait(const std::stop_token& stop, Duration at_most) {
  if (connection_->in_callback()) return waits_for_callbacks("wait()");
  const StopBell bell(*connection_, stop, [this] {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  pub::Term term;
  const auto over = [&] {
    term = take_term();
    return term.valid() || stopping_ || unfit_ || stop.stop_requested();
  };
  bool in_time = true;
  if (at_most >= kForever) {
    changed_.wait(lock, over);
  } else {
    in_time = changed_.wait_for(lock, at_most, over);
  }
  if (term.valid()) return term;
  if (unfit_) return *unfit_;
  if (in_time) return pub::Error{pub::Code::kCancelled, "no longer waiting to lead " + name_};
  return pub::Error{pub::Code::kTimeout,
                    "another process leads " + name_ + ", or the store does not answer"};
}

pub::Status LeadershipCore::step_down(const std::string& prefer) {
  std::optional<WorkerId> preferred;
  if (!prefer.empty()) {
    if (Status good = validate_name("id", prefer); !good) return to_public(good.error());
    preferred = WorkerId(prefer);
  }
  const std::lock_guard lock(mutex_);
  if (stopping_ || !term_ || !term_->valid()) {
    return {pub::Code::kConflict, id_ + " does not lead " + name_};
  }
  // Before a stop that is asked for later, so the candidate lives.
  connection_->loop().post([this, preferred] { candidate_->step_down(preferred); });
  return pub::Done{};
}

void LeadershipCore::begin_stop() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(stopping_, true)) return;
  changed_.notify_all();
  connection_->loop().post([this] { candidate_->stop([this] { left(); }); });
}

// Called in the candidate, which ends after it has returned.
void LeadershipCore::left() {
  connection_->loop().post([this] {
    life_.renew();
    std::unique_ptr<Candidate> candidate;
    {
      const std::lock_guard lock(mutex_);
      candidate = std::move(candidate_);
    }
    candidate.reset();
    // Once the mutex is free, a waiting thread may destroy this.
    Core self;
    const std::lock_guard lock(mutex_);
    gone_ = true;
    Ids::instance().release(election_of(*connection_, name_), id_);
    self.swap(self_);
    changed_.notify_all();
  });
}

pub::Status LeadershipCore::stop() {
  if (connection_->in_callback()) return waits_for_callbacks("stop()");
  begin_stop();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return gone_; });
  }
  connection_->wait_for_callbacks();
  return pub::Done{};
}

void LeadershipCore::end() {
  if (!connection_->in_callback()) {
    [[maybe_unused]] const pub::Status stopped = stop();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    self_ = shared_from_this();
  }
  begin_stop();
}

}  // namespace muster::api
