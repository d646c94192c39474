#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster::server {

/// The last sign of life of another server.
struct Sighting {
  Duration ago{0};
  std::uint64_t applied = 0;  ///< How far it had read the log; 0 when it did not say.
};

}  // namespace muster::server
