#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

/// What one random schedule of faults showed.
struct ScheduleReport {
  std::vector<std::string> wrong;  ///< One sentence each; empty when every promise held.
  std::size_t terms = 0;           ///< Different epochs under which work ran.
  std::size_t faults = 0;          ///< Done to processes and to the store.
};

/// Three nodes of `muster run` with a lease of 2 s on a fresh place in the store of that kind:
/// started, stopped, killed with -9, frozen; their guardians killed or frozen, too, and the store
/// disturbed, as `seed` says. Promises: runs of the work under different epochs never overlap,
/// epochs never fall, work runs again when all is healed, and nothing runs when all have stopped.
///
/// Never done, because the promise excludes it (G4): `muster run` and its guardian dead or frozen
/// at the same time. Any thread, several at once.
[[nodiscard]] ScheduleReport run_schedule(const std::string& kind, std::uint64_t seed);

}  // namespace muster
