#include "core/membership/failure_detector.h"

#include <algorithm>
#include <utility>

#include "core/membership/lifecycle.h"

namespace muster::membership {
namespace {

/// A node that lives has sent this many heartbeats to a new leader before it can be suspected.
constexpr int kBeatsToListen = 3;

}  // namespace

Timeouts timeouts_in_force(const NodeEntry& node, LogTime now, const Options& options) {
  Timeouts timeouts;
  timeouts.recent_suspicions = static_cast<std::size_t>(std::count_if(
      node.suspected_at.begin(), node.suspected_at.end(),
      [&](LogTime at) { return log_age(now, at, options.flap_window) < options.flap_window; }));
  timeouts.damped = timeouts.recent_suspicions >= options.flap_threshold;
  timeouts.suspect_after = options.suspect_timeout * (timeouts.damped ? 2 : 1);
  timeouts.down_after = timeouts.suspect_after + (options.down_timeout - options.suspect_timeout);
  return timeouts;
}

/// What one tick gathers while it looks at every node.
struct FailureDetector::Scan {
  struct Due {
    const NodeEntry* node;
    Cause cause;
  };

  MonoTime listening;
  Duration listened;
  const Topology& topology;
  std::size_t in_service = 0;   ///< ACTIVE, SUSPECT, DRAINING.
  std::size_t recent_down = 0;  ///< DOWN for less than the brake's window.
  std::size_t in_flight = 0;    ///< Of those in service: DOWN is proposed already.
  std::vector<Due> due;
  Verdict verdict;
};

FailureDetector::FailureDetector(const Options& options, const Topology& topology,
                                 MonoTime takeover)
    : options_(options), takeover_(takeover), last_tick_(takeover) {
  topology.for_each([&](const NodeEntry& node) { seed(node, topology.log_time()); });
}

void FailureDetector::seed(const NodeEntry& node, LogTime now) {
  const Timeouts timeouts = timeouts_in_force(node, now, options_);
  Track& t = track(node, takeover_);
  t.heard_at = takeover_ - log_age(now, node.last_heartbeat_at, timeouts.suspect_after);
  t.registered_at = takeover_ - log_age(now, node.registered_at, options_.joining_timeout);
  t.down_since = takeover_ - log_age(now, node.state_since, options_.down_brake_window);
  t.last_state = node.state;
}

/// T08: a registration that was not seen before starts the clock, whichever way it was noticed.
FailureDetector::Track& FailureDetector::track(const NodeEntry& node, MonoTime listening) {
  if (node.slot >= tracks_.size()) tracks_.resize(node.slot + 1);
  Track& t = tracks_[node.slot];
  if (t.registration != node.registration) {
    t = {};
    t.registration = node.registration;
    t.heard_at = listening;
    t.registered_at = listening;
  }
  return t;
}

void FailureDetector::heartbeat(const NodeEntry& node, MonoTime now) {
  const MonoTime listening = listening_time(now);
  Track& t = track(node, listening);
  t.heard_at = std::max(t.heard_at, listening);
}

MonoTime FailureDetector::listening_time(MonoTime now) const {
  return std::min(now, last_tick_ + options_.heartbeat_interval) - stalled_;
}

Cause FailureDetector::cause(const NodeEntry& node, Duration silence, const Scan& scan) const {
  Cause cause;
  cause.last_heartbeat_at = scan.topology.label(node.last_heartbeat_at);
  cause.silence = silence;
  cause.timeouts = timeouts_in_force(node, scan.topology.log_time(), options_);
  cause.listened = scan.listened;
  cause.grace = options_.leader_grace_period;
  return cause;
}

Verdict FailureDetector::tick(const Topology& topology, MonoTime now) {
  stalled_ += std::max(Duration(0), now - last_tick_ - options_.heartbeat_interval);
  last_tick_ = now;
  const MonoTime listening = listening_time(now);
  Scan scan{listening, listening - takeover_, topology, 0, 0, 0, {}, {}};
  topology.for_each([&](const NodeEntry& node) { judge(node, scan); });
  release_brake(scan);
  return std::move(scan.verdict);
}

void FailureDetector::judge(const NodeEntry& node, Scan& scan) {
  Track& t = track(node, scan.listening);
  if (node.state == NodeState::kDown) {
    if (t.last_state != NodeState::kDown) t.down_since = scan.listening;
    if (scan.listening - t.down_since < options_.down_brake_window) ++scan.recent_down;
  } else if (node.state == NodeState::kJoining) {
    judge_joining(node, t, scan);
  } else {
    ++scan.in_service;
    judge_silence(node, t, scan);
  }
  t.last_state = node.state;
}

void FailureDetector::judge_joining(const NodeEntry& node, Track& t, Scan& scan) {
  const Duration waited = scan.listening - t.registered_at;
  if (waited < options_.joining_timeout) return;
  if (scan.listened < options_.leader_grace_period) {
    ++scan.verdict.held_by_grace;
    return;
  }
  if (in_flight(t, Proposal::kRemoval, scan.listening)) return;
  t.proposed = Proposal::kRemoval;
  t.proposed_at = scan.listening;
  scan.verdict.findings.push_back(
      {RemoveJoining{observe(node), {}}, node.state, cause(node, waited, scan)});
}

void FailureDetector::judge_silence(const NodeEntry& node, Track& t, Scan& scan) {
  const Duration silence = std::max(Duration(0), scan.listening - t.heard_at);
  // Damping only lengthens timeouts, so most nodes need no look at their history.
  if (silence < options_.suspect_timeout) return;
  const Cause why = cause(node, silence, scan);
  if (may_become_suspect(node.state)) {
    if (silence < why.timeouts.suspect_after) return;
    if (scan.listened < kBeatsToListen * options_.heartbeat_interval) return;
    if (in_flight(t, Proposal::kSuspect, scan.listening)) return;
    t.proposed = Proposal::kSuspect;
    t.proposed_at = scan.listening;
    scan.verdict.findings.push_back({MarkSuspect{observe(node), {}}, node.state, why});
  } else if (may_become_down(node.state) && silence >= why.timeouts.down_after) {
    if (scan.listened < options_.leader_grace_period) {
      ++scan.verdict.held_by_grace;
    } else if (in_flight(t, Proposal::kDown, scan.listening)) {
      ++scan.in_flight;
    } else {
      scan.due.push_back({&node, why});
    }
  }
}

/// P14, P15: lets as many go DOWN as the brake allows, the longest silent first.
void FailureDetector::release_brake(Scan& scan) {
  // The small addend keeps 0.29 × 100 from being 28.
  const auto share = static_cast<std::size_t>(
      options_.down_brake_share * static_cast<double>(scan.in_service + scan.recent_down) + 1e-6);
  const std::size_t allowed = std::max<std::size_t>(1, share);
  std::size_t in_use = scan.recent_down + scan.in_flight;
  std::sort(scan.due.begin(), scan.due.end(), [](const Scan::Due& a, const Scan::Due& b) {
    return std::pair(b.cause.silence, a.node->slot) < std::pair(a.cause.silence, b.node->slot);
  });
  for (Scan::Due& due : scan.due) {
    if (in_use >= allowed) {
      ++scan.verdict.held_by_brake;
      continue;
    }
    due.cause.down_allowed = allowed;
    due.cause.down_in_use = in_use++;
    Track& t = tracks_[due.node->slot];
    t.proposed = Proposal::kDown;
    t.proposed_at = scan.listening;
    scan.verdict.findings.push_back({MarkDown{observe(*due.node), {}}, due.node->state, due.cause});
  }
}

bool FailureDetector::in_flight(const Track& t, Proposal proposal, MonoTime listening) const {
  return t.proposed == proposal && listening - t.proposed_at < options_.heartbeat_interval;
}

}  // namespace muster::membership
