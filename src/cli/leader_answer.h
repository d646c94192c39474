#pragma once

#include <optional>
#include <string>

#include "base/strong.h"
#include "base/time.h"
#include "core/election/records.h"

namespace muster::cli {

/// What one look at a namespace's state tells an onlooker. For people and scripts: no election
/// rests on it, since an age comes from the store's clock. That clock may say how long a lease
/// still lasts; that it is over, only renewals that do not come say.
struct LeaderAnswer {
  std::optional<WorkerId> leader;  ///< Empty: nobody leads.
  Epoch epoch;
  std::optional<Duration> lease_left;  ///< Empty when the store has no clock, or nobody leads.
  std::optional<Duration> age;         ///< Since the state was last written, where that is known.
  bool confirmed = false;      ///< False when this look cannot tell whether the leader still lives.
  bool looks_expired = false;  ///< By the store's clock: worth a second look.

  /// One JSON object: name, leader, epoch, leaseLeftMs, ageMs, confirmed.
  [[nodiscard]] std::string to_json(const std::string& election) const;
  /// One sentence.
  [[nodiscard]] std::string to_text(const std::string& election) const;
};

/// `age` is what the store says of the state's age; empty when it has no clock.
[[nodiscard]] LeaderAnswer judge(const LeaderState& state, std::optional<Duration> age);
/// A namespace in which nobody has led yet.
[[nodiscard]] LeaderAnswer nobody_yet();

}  // namespace muster::cli
