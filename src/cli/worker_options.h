#pragma once

#include "coordinator/options.h"

namespace CLI {
class App;
}

namespace muster::cli {

/// How often, how long, how careful: shared by every command that takes part or plans to.
void declare_timings(CLI::App& app, CoordinatorOptions& options);
/// Who this worker is, breaker, contention and fencing: for commands that take part.
void declare_worker(CLI::App& app, CoordinatorOptions& options);

}  // namespace muster::cli
