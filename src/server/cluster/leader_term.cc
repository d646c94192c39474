#include "server/cluster/leader_term.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "core/membership/validation.h"

namespace muster::server {
namespace {

constexpr Duration kTickMax = 1s;

SupervisorOptions supervisor_options(const LeaderTerm::Options& options) {
  SupervisorOptions result;
  result.supervision = options.supervision;
  result.name = "musterd";
  result.node = options.id;
  return result;
}

}  // namespace

LeaderTerm::LeaderTerm(Loop& loop, ReplicatedState& replica, Options options, OnBegin on_begin)
    : loop_(loop),
      replica_(replica),
      options_(std::move(options)),
      on_begin_(std::move(on_begin)),
      batch_timer_(loop),
      tick_timer_(loop),
      stop_timer_(loop),
      supervisor_(loop, supervisor_options(options_),
                  {{"heartbeats", batching(), {}}, {"failure-detector", detection(), {}}}) {}

LeaderTerm::~LeaderTerm() = default;

bool LeaderTerm::active() const {
  return running_ && guard_->valid() && replica_.log().leads();
}

Status LeaderTerm::heartbeat(const NodeId& id, const membership::Generation& generation,
                             membership::NodeState reported) {
  const membership::Topology& topology = replica_.state().topology();
  auto slot = topology.check_heartbeat(id, generation);
  if (!slot) return slot.error();
  const membership::NodeEntry& node = *topology.at(*slot);
  detector_->heartbeat(node, loop_.now());
  batcher_.note(node, reported);
  return Done{};
}

void LeaderTerm::start(Epoch, std::shared_ptr<const LeaseGuard> guard,
                       std::function<void()> on_ready,
                       std::function<void(std::string why)> on_failed) {
  guard_ = std::move(guard);
  on_ready_ = std::move(on_ready);
  on_failed_ = std::move(on_failed);
  waiting_ = retiring_;
  if (!waiting_) begin();
}

void LeaderTerm::begin() {
  term_.renew();
  // What an earlier term did not get to write is no heartbeat of this one: written now, it would
  // let a node that has been silent since look alive.
  batcher_ = {};
  replica_.lead(guard_->epoch(), options_.incarnation,
                term_.wrap([this](const Status& status) { led(status); }));
}

void LeaderTerm::led(const Status& status) {
  if (!status) return fail(status.error().message);
  detector_.emplace(options_.membership, replica_.state().topology(), loop_.now());
  held_ = {};
  running_ = true;
  on_begin_(guard_->epoch());
  supervisor_.start(guard_, {.ready =
                                 [this] {
                                   if (const auto ready = std::exchange(on_ready_, {})) ready();
                                 },
                             .ending = [this](const TreeEnd& end) { fail(end.message); },
                             .ended = [this](const TreeEnd&) { tree_ended(); },
                             .unkillable = {}});
}

void LeaderTerm::deposed(Epoch ended, const std::string& why) {
  if (ended == epoch()) fail(why);
}

void LeaderTerm::fail(const std::string& why) {
  if (const auto failed = std::exchange(on_failed_, {})) failed(why);
}

void LeaderTerm::deadline_moved(MonoTime) {
  supervisor_.deadline_moved();
}

// Nothing of a term can take effect after its deadline: every effect is an entry of the log, and
// the log knows the epoch. So the receipt waits for a clean end no longer than `by`.
void LeaderTerm::stop(MonoTime by, std::function<void(bool receipt)> done) {
  on_stopped_ = std::move(done);
  on_ready_ = {};
  on_failed_ = {};
  stop_timer_.arm(by, [this] { gone(); });
  if (supervisor_.running()) return supervisor_.stop(by);
  if (std::exchange(waiting_, false)) return gone();
  if (!retiring_) retire();
}

void LeaderTerm::tree_ended() {
  if (!on_stopped_) return;  // It failed by itself; stop() follows.
  // T06: what was gathered is written before the leadership is handed over.
  const cluster::Note resigned{cluster::DecisionKind::kLeader,
                               cluster::kServersSubject,
                               cluster::Why::kResigned,
                               resigning_.empty() ? "its work ended" : resigning_,
                               {},
                               {}};
  resigning_.clear();
  flush(term_.wrap([this] { retire(); }), resigned);
}

void LeaderTerm::retire() {
  term_.renew();
  running_ = false;
  retiring_ = true;
  replica_.retire(lifetime_.wrap([this](const Status&) {
    retiring_ = false;
    gone();
    if (std::exchange(waiting_, false)) begin();
  }));
}

void LeaderTerm::gone() {
  stop_timer_.cancel();
  const auto stopped = std::exchange(on_stopped_, {});
  if (!stopped) return;
  running_ = false;
  guard_.reset();
  detector_.reset();
  if (!retiring_ && replica_.log().leads()) retire();
  stopped(true);
}

LoopTask LeaderTerm::batching() {
  return {.start = [this](const std::shared_ptr<const LeaseGuard>&,
                          const std::function<void(Error)>&) { flush_later(); },
          .stop = [this] { batch_timer_.cancel(); }};
}

void LeaderTerm::flush_later() {
  batch_timer_.arm(options_.membership.heartbeat_batch_interval, [this] {
    if (!active()) return flush_later();
    // The next batch gathers until this one is settled: one is under way at a time.
    flush(term_.wrap([this] {
      if (running_ && !on_stopped_) flush_later();
    }));
  });
}

void LeaderTerm::flush(std::function<void()> done, std::optional<cluster::Note> last) {
  if (!active()) return done();
  std::vector<cluster::Command> commands;
  for (membership::BatchHeartbeat& batch : batcher_.take(replica_.state().topology())) {
    if (options_.on_batch) options_.on_batch(batch.beats.size());
    commands.push_back(cluster::ChangeTopology{std::move(batch)});
  }
  if (last) commands.push_back(std::move(*last));
  if (commands.empty()) return done();
  auto left = std::make_shared<std::size_t>(commands.size());
  for (const cluster::Command& command : commands) {
    replica_.propose(command, [left, done, what = cluster::name(command)](
                                  const Result<cluster::Answer>& answer) {
      if (!answer) {
        log_warn("not written", {{"command", what}, {"error", answer.error().message}});
      }
      if (--*left == 0) done();
    });
  }
}

Duration LeaderTerm::lease_left() const {
  if (!active()) return Duration(0);
  return std::max(Duration(0), guard_->deadline() - loop_.now());
}

LoopTask LeaderTerm::detection() {
  return {.start = [this](const std::shared_ptr<const LeaseGuard>&,
                          const std::function<void(Error)>&) { tick(); },
          .stop = [this] { tick_timer_.cancel(); }};
}

void LeaderTerm::tick() {
  tick_timer_.arm(std::min(kTickMax, options_.membership.heartbeat_interval / 4),
                  [this] { tick(); });
  if (!active()) return;
  const membership::Verdict verdict = detector_->tick(replica_.state().topology(), loop_.now());
  for (const membership::Finding& finding : verdict.findings) propose(finding);
  note_brake(verdict.held_by_brake);
  held_ = {{}, verdict.held_by_grace, verdict.held_by_brake};
}

void LeaderTerm::note_brake(std::size_t held) {
  if (held == held_.held_by_brake) return;
  log_warn("too many nodes went DOWN at once; the others wait",
           {{"epoch", std::to_string(guard_->epoch().value())}, {"waiting", std::to_string(held)}});
  // Its coming and going are decisions; how many wait meanwhile is a metric.
  if ((held == 0) == (held_.held_by_brake == 0)) return;
  const cluster::Note note{cluster::DecisionKind::kBrake,
                           "brake",
                           held == 0 ? cluster::Why::kEnded : cluster::Why::kBegan,
                           held == 0 ? "" : "nodes that wait: " + std::to_string(held),
                           {},
                           {}};
  replica_.propose(note, [](const Result<cluster::Answer>& answer) {
    if (!answer) log_warn("not written", {{"command", "Note"}, {"error", answer.error().message}});
  });
}

void LeaderTerm::propose(const membership::Finding& finding) {
  const NodeId id = std::visit(
      [](const auto& command) {
        if constexpr (requires { command.seen; }) return command.seen.id;
        return NodeId{};
      },
      finding.command);
  replica_.propose(cluster::ChangeTopology{finding.command, {{}, finding.cause}},
                   [id, name = membership::name(finding.command), cause = finding.cause,
                    epoch = guard_->epoch()](const Result<cluster::Answer>& answer) {
                     log_info("node judged",
                              {{"node", id.value()},
                               {"decision", name},
                               {"epoch", std::to_string(epoch.value())},
                               {"silent_ms", std::to_string(to_ms(cause.silence))},
                               {"outcome", answer ? "applied" : answer.error().message}});
                   });
}

}  // namespace muster::server
