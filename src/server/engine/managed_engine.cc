#include "server/engine/managed_engine.h"

#include <sys/un.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "core/engine/quorum.h"
#include "server/engine/admissions.h"
#include "server/engine/etcd_admin.h"

namespace muster {
namespace {

using engine::StartPlan;

constexpr Duration kVersionTimeout = 10s;
constexpr Duration kVitalsTimeout = 1s;
constexpr Duration kVitalsInterval = 50ms;
/// What the etcd of a musterd that was killed is given to disappear.
constexpr Duration kReleaseTimeout = 3s;
constexpr Duration kCountInterval = 1s;
constexpr Duration kBackoffMin = 100ms;
constexpr Duration kBackoffMax = 5s;
constexpr Duration kStableAfter = 10s;

std::string megabytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MB";
}

}  // namespace

struct ManagedEngine::Service {
  explicit Service(ManagedEngine& owner)
      : admin(owner.options_.socket(), owner.loop_),
        admissions(owner.loop_, admin, owner.views_),
        upkeep(owner.loop_, owner.options_, admin,
               [&owner](const auto& finding) { owner.on_look(finding); }) {}

  engine::EtcdAdmin admin;
  engine::Admissions admissions;
  engine::UpkeepCycle upkeep;
};

const char* to_string(EngineHealth::State state) {
  switch (state) {
    case EngineHealth::State::kStopped:
      return "stopped";
    case EngineHealth::State::kStarting:
      return "starting";
    case EngineHealth::State::kServing:
      return "serving";
    case EngineHealth::State::kNoLeader:
      return "no leader";
    case EngineHealth::State::kFull:
      return "full";
    case EngineHealth::State::kCorrupt:
      return "corrupt";
    case EngineHealth::State::kRestarting:
      return "restarting";
    case EngineHealth::State::kEnded:
      return "ended";
  }
  return "?";
}

ManagedEngine::ManagedEngine(EventLoop& loop, engine::EngineOptions options)
    : loop_(loop),
      options_(std::move(options)),
      start_limit_(loop),
      timer_(loop),
      views_(loop, options_.tls) {
  for (const auto& [name, address] : options_.peers) voters_[name] = options_.peer_url(address);
}

ManagedEngine::~ManagedEngine() = default;

void ManagedEngine::start(Ready ready, Ended ended) {
  ready_ = std::move(ready);
  ended_ = std::move(ended);
  enter(State::kStarting, "reading the data directory");
  start_limit_.arm(options_.start_timeout, [this] { on_start_limit(); });
  if (options_.socket().size() >= sizeof(sockaddr_un::sun_path)) {
    return give_up({Errc::kInvalid, "the path of the data directory " + options_.data_dir +
                                        " is too long for a socket in it; choose a shorter one"});
  }
  auto directory = engine::DataDirectory::open(options_.data_dir);
  if (!directory) return give_up(directory.error());
  directory_ = std::move(*directory);
  service_ = std::make_unique<Service>(*this);
  check_version();
}

void ManagedEngine::on_start_limit() {
  std::string words = search_ ? search_->words() : health_.words;
  if (trouble_.empty()) {
    // Only others are missing, and they may come at any time.
    log_warn("engine still waits", {{"member", options_.name}, {"for", words}});
    return start_limit_.arm(options_.start_timeout, [this] { on_start_limit(); });
  }
  if (words != trouble_) words += "; before: " + trouble_;
  give_up({Errc::kUnavailable, "the engine did not start within " +
                                   format_duration(options_.start_timeout) + ": " + words});
}

void ManagedEngine::check_version() {
  version_ = std::make_unique<engine::ProgramOutput>(loop_, kVersionTimeout);
  version_->run({options_.program, "--version"}, [this](const Result<std::string>& output) {
    version_.reset();
    if (output.is(Errc::kNotFound)) {
      return give_up({Errc::kNotFound, "a managed engine needs etcd, and there is no \"" +
                                           options_.program +
                                           "\"; install etcd-server 3.4 or later, or choose "
                                           "another --engine"});
    }
    if (!output) return give_up(output.error());
    const auto version = engine::parse_etcd_version(*output);
    if (!version) return give_up({Errc::kInvalid, options_.program + " is not etcd"});
    if (*version < engine::kOldestEtcd) {
      return give_up({Errc::kUnsupported, options_.program + " is etcd " +
                                              engine::to_string(*version) +
                                              "; a managed engine needs 3.4 or later"});
    }
    health_.version = engine::to_string(*version);
    find_start();
  });
}

void ManagedEngine::find_start() {
  search_ = std::make_unique<engine::StartSearch>(
      loop_, options_, *directory_, views_, [this](const Result<StartPlan>& plan) {
        // The search is at work in this call.
        loop_.post(lifetime_.wrap([this, plan] {
          search_.reset();
          if (!plan) return give_up(plan.error());
          await_release(*plan, loop_.now() + kReleaseTimeout);
        }));
      });
  search_->begin();
}

/// etcd would wait for its data without a message, so the wait is here.
void ManagedEngine::await_release(const StartPlan& plan, MonoTime limit) {
  if (!directory_->in_use()) return launch(plan);
  if (loop_.now() >= limit) {
    return give_up({Errc::kConflict, "another etcd uses the data in " + options_.etcd_directory() +
                                         "; end it first"});
  }
  timer_.arm(kVitalsInterval, [this, plan, limit] { await_release(plan, limit); });
}

void ManagedEngine::launch(const StartPlan& plan) {
  // etcd does not listen on the socket of one that was killed.
  directory_->remove_socket();
  const auto words = engine::etcd_command(options_, plan);
  if (!words) return give_up(words.error());
  child_ = std::make_unique<engine::EtcdChild>(
      loop_, options_, [this](const engine::Diagnosis& diagnosis) { on_child_ended(diagnosis); });
  if (const Status status = child_->start(*words); !status) {
    child_.reset();
    return give_up(status.error());
  }
  enter(State::kStarting, "etcd starts");
  await_service();
}

void ManagedEngine::await_service() {
  service_->admin.vitals(loop_.now() + kVitalsTimeout,
                         lifetime_.wrap([this](const Result<engine::Vitals>& vitals) {
                           if (child_ && !stopping_ && health_.state == State::kStarting)
                             on_vitals(vitals);
                         }));
}

void ManagedEngine::on_vitals(const Result<engine::Vitals>& vitals) {
  if (vitals && vitals->leader_id != 0 && !vitals->learner) return serve();
  count_quorum();
  if (!vitals) {
    health_.words = "waiting for a majority of the members: " + vitals.error().message;
    if (!child_->last_error().empty()) health_.words += "; etcd said: " + child_->last_error();
  } else {
    health_.words = vitals->learner ? "receiving the data of the other members"
                                    : "waiting for a majority of the members";
  }
  timer_.arm(kVitalsInterval, [this] { await_service(); });
}

// No member can tell while no majority agrees, so every one of them is asked whether it is there.
void ManagedEngine::count_quorum() {
  if (counting_ || voters_.size() < 2 || loop_.now() - counted_ < kCountInterval) return;
  counting_ = true;
  auto others = voters_;
  others.erase(options_.name);
  views_.look(others, loop_.now() + kVitalsTimeout, lifetime_.wrap([this](const auto& views) {
    counting_ = false;
    counted_ = loop_.now();
    if (health_.state == State::kServing) return;
    std::map<std::string, bool> up{{options_.name, true}};
    for (const auto& [name, view] : views) up[name] = view.kind != engine::PeerView::Kind::kSilent;
    quorum_ = engine::quorum_words(up);
  }));
}

const std::string& ManagedEngine::trouble() const {
  if (search_) return search_->words();
  return quorum_.empty() ? health_.words : quorum_;
}

void ManagedEngine::serve() {
  serving_since_ = loop_.now();
  start_limit_.cancel();
  enter(State::kServing, "serving");
  service_->upkeep.start();
  if (ready_) std::exchange(ready_, {})(options_.store_url());
}

void ManagedEngine::on_look(const Result<engine::UpkeepCycle::Finding>& finding) {
  if (!child_ || stopping_) return;
  if (!finding) {
    count_quorum();
    return enter(State::kNoLeader, finding.error().message);
  }
  const engine::UpkeepSight& sight = finding->sight;
  voters_.clear();
  for (const engine::Member& member : sight.members) {
    if (!member.learner && !member.name.empty()) voters_[member.name] = member.peer_url;
  }
  health_.member_id = sight.vitals.member_id;
  health_.file_bytes = sight.vitals.file_bytes;
  const engine::Member* const leader = find_id(sight.members, sight.vitals.leader_id);
  health_.leader = leader == nullptr ? "" : leader->name;
  if (sight.corrupt) {
    return enter(
        State::kCorrupt,
        "etcd has found that its members' data differ; see its log for the one to replace");
  }
  if (sight.vitals.leader_id == 0) {
    count_quorum();
    return enter(State::kNoLeader, "no member leads");
  }
  if (sight.full.empty()) return enter(State::kServing, "serving");
  enter(State::kFull, finding->plan.overfull
                          ? "the engine's quota of " + megabytes(options_.quota_bytes) +
                                " is used up; remove objects, or raise --engine-quota-mb on every "
                                "server"
                          : "the engine's quota was used up; making room");
}

void ManagedEngine::on_child_ended(const engine::Diagnosis& diagnosis) {
  // The child is at work in this call.
  loop_.post(lifetime_.wrap([this, diagnosis] {
    child_.reset();
    service_->upkeep.stop();
    timer_.cancel();
    if (stopping_) return halt();
    if (diagnosis.permanent) return give_up({Errc::kCorrupt, diagnosis.sentence});
    restart_later(diagnosis.sentence);
  }));
}

void ManagedEngine::restart_later(const std::string& why) {
  const bool stable =
      health_.state != State::kStarting && loop_.now() - serving_since_ > kStableAfter;
  backoff_ = stable || backoff_ == 0s ? kBackoffMin : std::min(2 * backoff_, kBackoffMax);
  trouble_ = why;
  enter(State::kRestarting, why);
  timer_.arm(backoff_, [this] { find_start(); });
}

void ManagedEngine::give_up(Error error) {
  child_.reset();
  search_.reset();
  if (service_) service_->upkeep.stop();
  timer_.cancel();
  start_limit_.cancel();
  enter(State::kEnded, error.message);
  directory_.reset();
  // Posted: the listener may destroy this.
  loop_.post(lifetime_.wrap([this, error = std::move(error)] {
    if (stopping_) return;
    if (ready_) return std::exchange(ready_, {})(error);
    if (ended_) std::exchange(ended_, {})(error);
  }));
}

void ManagedEngine::stop(std::function<void()> done) {
  stopping_ = true;
  stopped_ = std::move(done);
  version_.reset();
  search_.reset();
  if (service_) service_->upkeep.stop();
  timer_.cancel();
  start_limit_.cancel();
  if (child_) return child_->terminate();
  loop_.post(lifetime_.wrap([this] { halt(); }));
}

void ManagedEngine::halt() {
  enter(State::kStopped, "stopped");
  directory_.reset();
  if (stopped_) std::exchange(stopped_, {})();
}

void ManagedEngine::enter(State state, std::string words) {
  if (state != health_.state) {
    const bool bad = state == State::kEnded || state == State::kCorrupt;
    const bool odd =
        bad || state == State::kFull || state == State::kRestarting || state == State::kNoLeader;
    log({bad   ? LogLevel::kError
         : odd ? LogLevel::kWarn
               : LogLevel::kInfo,
         "engine changed",
         {{"member", options_.name}, {"state", to_string(state)}, {"why", words}}});
  }
  health_.state = state;
  health_.words = std::move(words);
  // What was counted is true of members that do not agree only.
  if (state != State::kStarting && state != State::kNoLeader) quorum_.clear();
}

Status ManagedEngine::serving() const {
  if (child_ && !stopping_ && health_.state != State::kStarting) return Done{};
  return {Errc::kUnavailable, "the engine does not serve now: " + health_.words};
}

void ManagedEngine::members(Callback<engine::Members> done) {
  if (const Status status = serving(); !status) {
    return loop_.post([done = std::move(done), error = status.error()] { done(error); });
  }
  service_->admin.members(loop_.now() + 5s, std::move(done));
}

void ManagedEngine::admit(engine::Admission request, Callback<engine::Members> done) {
  if (const Status status = serving(); !status) {
    return loop_.post([done = std::move(done), error = status.error()] { done(error); });
  }
  service_->admissions.admit(std::move(request), std::move(done));
}

void ManagedEngine::remove_member(const std::string& name, Callback<Done> done) {
  if (const Status status = serving(); !status) {
    return loop_.post([done = std::move(done), error = status.error()] { done(error); });
  }
  service_->admissions.remove(name, std::move(done));
}

}  // namespace muster
