#pragma once

#include <cstdint>

#include "base/time.h"
#include "core/cluster/reachability.h"

namespace muster::server {

/// The last sign of life of another server, as the leader knows it.
struct Sighting {
  Duration ago{0};            ///< Since the term began for one that has not been heard in it.
  std::uint64_t applied = 0;  ///< How far it had read the log; 0 when it has not been heard.

  [[nodiscard]] cluster::Presence presence() const { return cluster::presence(ago, applied > 0); }
};

}  // namespace muster::server
