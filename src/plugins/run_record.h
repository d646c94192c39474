#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"

namespace muster {

enum class RunState {
  kScheduled,    ///< Nothing runs; the next due time is the first after last_due.
  kClaimed,      ///< One leader may start the run of last_due, and nobody else.
  kSucceeded,    ///< It ran to its end.
  kFailed,       ///< It ran and threw.
  kInterrupted,  ///< Its leader was gone before it had reported an end.
};

[[nodiscard]] const char* to_string(RunState state);

/// What the store knows of one job. `plugin=scheduler/namespace={ns}/job={name}.json` holds it as
/// a JSON object: cron, zone, lastDue, previousDue (ms), epoch, attempt, nonce, outcome.
struct RunRecord {
  std::string cron;
  std::string zone;
  WallTime last_due;      ///< Every due time up to here has been decided.
  WallTime previous_due;  ///< What last_due was before the claim.
  Epoch epoch;            ///< Of the leader that wrote it; never falls.
  std::uint64_t attempt = 1;
  Nonce nonce;
  RunState state = RunState::kScheduled;
};

[[nodiscard]] std::string encode(const RunRecord& record);
/// kCorrupt with the reason.
[[nodiscard]] Result<RunRecord> decode_run_record(std::string_view body);

}  // namespace muster
