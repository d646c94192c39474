#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "core/membership/cause.h"
#include "core/membership/commands.h"
#include "core/membership/node.h"
#include "core/membership/options.h"
#include "core/membership/topology.h"

namespace muster::membership {

/// The timeouts of a node at log time `now`.
[[nodiscard]] Timeouts timeouts_in_force(const NodeEntry& node, LogTime now,
                                         const Options& options);

/// A proposal for the log. It may still be refused when it is applied.
struct Finding {
  Command command;
  NodeState from = NodeState::kUnknown;
  Cause cause;
};

struct Verdict {
  std::vector<Finding> findings;
  std::size_t held_by_grace = 0;  ///< Due to be DOWN or removed, but the leader is too new.
  std::size_t held_by_brake = 0;  ///< Due to be DOWN, but too many others just went DOWN.
};

/// Decides which nodes have gone silent. Lives as long as one term of leadership.
///
/// Silence is (log time at takeover − last heartbeat), at most one suspect timeout, plus the time
/// that this leader's boot clock has measured since. So a new leader neither forgets silent nodes
/// (T27, P13) nor counts time in which no server listened, and wall clocks do not matter (P26): no
/// DOWN before leader_grace_period, no SUSPECT before it has listened for three heartbeat
/// intervals. Time in which this process did not run is no silence: between two ticks at most one
/// heartbeat interval counts, so call tick() more often than that. It changes nothing: it proposes,
/// and apply checks each proposal again. A proposal without effect is repeated after one heartbeat
/// interval. Pure. Threads: one.
class FailureDetector {
 public:
  /// `topology` is that at the beginning of the term, at `takeover`. `options` must be valid.
  FailureDetector(const Options& options, const Topology& topology, MonoTime takeover);

  /// A heartbeat that Topology::check_heartbeat accepted was received at `now`.
  void heartbeat(const NodeEntry& node, MonoTime now);

  /// The findings due at `now`. The brake is part of this step, so it applies from the first
  /// moment of a mass failure.
  [[nodiscard]] Verdict tick(const Topology& topology, MonoTime now);

 private:
  enum class Proposal { kNone, kSuspect, kDown, kRemoval };

  /// The state of the node in a slot. Times are in listening time.
  struct Track {
    std::uint64_t registration = 0;  ///< 0: none yet.
    MonoTime heard_at{};
    MonoTime registered_at{};
    MonoTime down_since{};
    NodeState last_state = NodeState::kUnknown;
    Proposal proposed = Proposal::kNone;
    MonoTime proposed_at{};
  };
  struct Scan;

  Track& track(const NodeEntry& node, MonoTime listening);
  void seed(const NodeEntry& node, LogTime now);
  /// The boot clock, minus the time in which this process did not run.
  [[nodiscard]] MonoTime listening_time(MonoTime now) const;
  [[nodiscard]] bool in_flight(const Track& track, Proposal proposal, MonoTime listening) const;
  [[nodiscard]] Cause cause(const NodeEntry& node, Duration silence, const Scan& scan) const;
  void judge(const NodeEntry& node, Scan& scan);
  void judge_joining(const NodeEntry& node, Track& track, Scan& scan);
  void judge_silence(const NodeEntry& node, Track& track, Scan& scan);
  void release_brake(Scan& scan);

  Options options_;
  MonoTime takeover_;
  MonoTime last_tick_;
  Duration stalled_{0};
  std::vector<Track> tracks_;  ///< By slot.
};

}  // namespace muster::membership
