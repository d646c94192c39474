#pragma once

#include <cstddef>

namespace muster::bench {

/// How long the loop of a server is held up by a snapshot of `nodes` nodes, in milliseconds.
struct SnapshotCost {
  double begin = 0;        ///< Making the image.
  double worst_part = 0;   ///< Any of its parts.
  double worst_batch = 0;  ///< A batch of heartbeats of a tenth of the nodes meanwhile.
  double quiet_batch = 0;  ///< The same without a snapshot.
  double load = 0;         ///< Putting the parts together again, all of them.
  std::size_t parts = 0;
  std::size_t bytes = 0;
};
[[nodiscard]] SnapshotCost measure_snapshot(std::size_t nodes);

}  // namespace muster::bench
