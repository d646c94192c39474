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

/// What counts for a node at log time `now`.
[[nodiscard]] Timeouts timeouts_in_force(const NodeEntry& node, LogTime now,
                                         const Options& options);

/// A proposal for the log. It may still be refused when it is applied.
struct Decision {
  Command command;
  NodeState from = NodeState::kUnknown;
  Cause cause;
};

struct Verdict {
  std::vector<Decision> decisions;
  std::size_t held_by_grace = 0;  ///< Due to be DOWN or removed, but the leader is too new.
  std::size_t held_by_brake = 0;  ///< Due to be DOWN, but too many others just went DOWN.
};

/// Decides which nodes have gone silent. Lives as long as one term of leadership.
///
/// Silence is (log time at takeover − last heartbeat), at most one suspect timeout, plus what this
/// leader's boot clock measured since. So a new leader neither forgets the silent (T27, P13) nor
/// counts what nobody heard, and no wall clock has a say (P26): no DOWN before leader_grace_period,
/// no SUSPECT before it listened for three heartbeat intervals itself. Time in which this process
/// did not run is nobody's silence: between two ticks, at most one heartbeat interval counts. So
/// tick() is to be called more often than that. Changes nothing: it proposes, and apply checks each
/// proposal again. A proposal that does not take effect is repeated after one heartbeat interval.
/// Pure; one thread.
class FailureDetector {
 public:
  /// `topology` as it is when the term begins at `takeover`. `options` must be valid.
  FailureDetector(const Options& options, const Topology& topology, MonoTime takeover);

  /// A heartbeat that Topology::check_heartbeat accepted was received at `now`.
  void heartbeat(const NodeEntry& node, MonoTime now);

  /// What is due at `now`. The brake is part of this very step, so that not even the first
  /// moment of a mass failure passes it.
  [[nodiscard]] Verdict tick(const Topology& topology, MonoTime now);

 private:
  enum class Proposal { kNone, kSuspect, kDown, kRemoval };

  /// What is known about the node in a slot. Times are in listening time.
  struct Track {
    std::uint64_t registration = 0;  ///< 0: nothing yet.
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
  /// The boot clock without the time in which this process did not run.
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
