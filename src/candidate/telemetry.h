#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "base/strong.h"
#include "base/time.h"
#include "core/candidate/candidate_machine.h"
#include "core/candidate/leader_monitor.h"

/// The events of a candidate for people and programs: typed events, JSON lines, counters.
namespace muster::telemetry {

/// became_leader, and its counterpart lost_leadership: each exactly once per term. The loss of a
/// term that was handed over follows after its work has stopped and its lease was released.
struct BecameLeader {
  Epoch epoch;
};
struct LostLeadership {
  Epoch epoch;
  EndReason reason;
  std::string detail;
};
/// leader_down: the leader on another node is gone.
struct LeaderDown {
  WorkerId former_leader;
  Epoch epoch;
  DownCause cause;
};
/// leader_alive: another node was seen to renew. Once per term.
struct LeaderAlive {
  WorkerId leader;
  Epoch epoch;
};
/// leader_changed: reported for every rise of the epoch, also if the leader stays the same.
struct LeaderChanged {
  std::optional<WorkerId> previous;
  std::optional<WorkerId> current;
  Epoch epoch;
};
/// election_check: once per election interval, on every node.
struct ElectionCheck {
  std::optional<WorkerId> current_leader;
};
/// election_started: this node tries to acquire the lease.
struct ElectionStarted {};
/// state_changed
struct StateChanged {
  CandidateState from;
  CandidateState to;
};
/// flapping: terms on this node are short, again and again.
struct Flapping {
  std::uint32_t short_terms;
  Duration backoff;
};
/// command: this node obeys an operator's command from the store.
struct CommandAccepted {
  std::string id;
  std::string kind;
};
/// trouble: something that an operator should see. kStoreUnreachable comes once, until a heartbeat
/// has passed without a failed request.
struct Trouble {
  enum class Kind {
    kUnsafeStore,
    kDuplicateNode,
    kStateDamaged,
    kWorkStuck,
    kBadControl,
    kStoreUnreachable
  };
  Kind kind;
  std::string message;
};
[[nodiscard]] const char* to_string(Trouble::Kind kind);

using What =
    std::variant<BecameLeader, LostLeadership, LeaderDown, LeaderAlive, LeaderChanged,
                 ElectionCheck, ElectionStarted, StateChanged, Flapping, CommandAccepted, Trouble>;

struct Event {
  WallTime time;
  WorkerId node;
  What what;
};

/// "became_leader" and so on.
[[nodiscard]] const char* event_name(const Event& event);
/// One JSON object: {"event": name, "time": ms, "node": id, …}.
[[nodiscard]] std::string to_json(const Event& event);
/// One line for people, with the same names.
void write_log(const Event& event, const std::string& name_space);

struct Metrics {
  std::uint64_t became_leader = 0;
  std::map<EndReason, std::uint64_t> lost_leadership;
  std::map<DownCause, std::uint64_t> leader_down;
  std::uint64_t leader_changes = 0;
  std::uint64_t election_checks = 0;
  std::uint64_t elections_started = 0;
  std::uint64_t short_terms = 0;
  std::uint64_t commands = 0;
  std::uint64_t troubles = 0;

  void count(const Event& event);
};

}  // namespace muster::telemetry
