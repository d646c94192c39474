#pragma once

#include <string>

#include "coordinator/hub.h"

namespace muster {

/// What a coordinator measures, in Prometheus' text format, as of now. The names begin with
/// muster_coordinator_; the namespace is a label, as one process may take part in several. Any
/// thread.
[[nodiscard]] std::string prometheus_text(const GlobalCoordinator& coordinator);

}  // namespace muster
