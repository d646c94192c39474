#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster {

/// Something that a process did or believed under an epoch, at some instant from `from` to `to`.
struct Claim {
  std::string who;  ///< One process, not one worker id.
  std::uint64_t epoch = 0;
  MonoTime from{};
  MonoTime to{};
};

/// What the claims prove to be wrong, one sentence each; empty when nothing is.
///
/// An epoch belongs to one process. Since each next term begins after the last has ended, no claim
/// under a lower epoch may lie after one under a higher epoch. Claims whose instants may have been
/// in the right order are not complained of: a process that was frozen between two looks at the
/// clock has a claim as long as that.
[[nodiscard]] std::vector<std::string> contradictions(const std::vector<Claim>& claims);

/// How many different epochs there are.
[[nodiscard]] std::size_t count_terms(const std::vector<Claim>& claims);

}  // namespace muster
