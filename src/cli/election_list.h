#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/leader_answer.h"
#include "elector/sync_store.h"

namespace muster::cli {

/// One election of a store, by one look at it.
struct ElectionRow {
  std::string name;
  LeaderAnswer answer = nobody_yet();
  /// How many take part, as the leader has published it; empty while nobody leads.
  std::optional<std::size_t> candidates;
  std::string problem;  ///< Why the state cannot be read; empty when it can.
};

/// Every election that a store holds, of any program: muster run, muster worker, the
/// library, or the servers of a musterd whose engine this store is. Sorted by name.
[[nodiscard]] Result<std::vector<ElectionRow>> read_elections(SyncStore& store);

}  // namespace muster::cli
