#pragma once

#include <string>

#include "coordinator/hub.h"

namespace muster {

/// The measurements of a coordinator, now, in Prometheus' text format. The names begin with
/// muster_coordinator_; the election is the label `namespace`, because one process may take part in
/// several. Any thread.
[[nodiscard]] std::string prometheus_text(const GlobalCoordinator& coordinator);

}  // namespace muster
