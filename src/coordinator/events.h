#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/strong.h"
#include "base/time.h"
#include "core/election/election.h"
#include "core/limits/circuit_breaker.h"

namespace muster {

/// leader:changed. Reported for every rise of the epoch, also if the leader stays the same.
struct LeaderChangedEvent {
  std::string name_space;
  std::optional<WorkerId> previous_leader;
  std::optional<WorkerId> new_leader;
  Epoch epoch;
};
/// workers:updated
struct WorkersUpdatedEvent {
  std::string name_space;
  std::vector<WorkerId> workers;
};
/// contention:detected: no heartbeat succeeded for `duration`; one is due every `expected`.
struct ContentionDetectedEvent {
  std::string name_space;
  Duration duration;
  Duration expected;
  double ratio;
};
/// circuitBreaker:open, circuitBreaker:half-open, circuitBreaker:closed
struct CircuitBreakerEvent {
  std::string name_space;
  CircuitState state;
  std::uint64_t failure_count;
};
/// term:began, term:ended: this worker leads, or no longer leads.
struct TermBeganEvent {
  std::string name_space;
  Epoch epoch;
  MonoTime deadline;
};
struct TermEndedEvent {
  std::string name_space;
  Epoch epoch;
  LossReason reason;
};
/// trouble: something that an operator should see: a duplicate worker id, a damaged state, an
/// unsafe store, a plugin that threw or hangs, content of control.json that is not a command.
struct TroubleEvent {
  enum class Kind {
    kDuplicateWorker,
    kStateDamaged,
    kUnsafeStore,
    kTimingsDiffer,
    kPluginFailed,
    kPluginStalled,
    kBadControl,
  };
  std::string name_space;
  Kind kind;
  std::string message;
};

/// command: this worker obeys an operator: step-down, transfer, pause, resume.
struct CommandEvent {
  std::string name_space;
  std::string id;
  std::string kind;
};

using CoordinatorEvent =
    std::variant<LeaderChangedEvent, WorkersUpdatedEvent, ContentionDetectedEvent,
                 CircuitBreakerEvent, TermBeganEvent, TermEndedEvent, TroubleEvent, CommandEvent>;

[[nodiscard]] const char* to_string(TroubleEvent::Kind kind);
/// "leader:changed" and so on.
[[nodiscard]] std::string event_name(const CoordinatorEvent& event);
/// One JSON object: {"event": name, …payload}.
[[nodiscard]] std::string to_json(const CoordinatorEvent& event);

}  // namespace muster
