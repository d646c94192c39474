#pragma once

#include <cstddef>
#include <istream>
#include <string>

namespace muster::sim {

/// What became of a recording (`muster record`).
struct ReplayReport {
  std::string violation;  ///< Empty: every decision led to the state that was recorded.
  std::size_t decisions = 0;
  std::size_t nodes = 0;
};

/// Makes the recorded transitions again, as commands to core/membership, and compares each state
/// with the recorded one, the causes with the rules that they must have obeyed, and the outcome
/// with the nodes as they were recorded at the end. A node whose beginning is not in the recording
/// any more begins in the state that its first decision found.
[[nodiscard]] ReplayReport replay(std::istream& recording);

}  // namespace muster::sim
