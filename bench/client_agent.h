#pragma once

#include "bench/report.h"

namespace muster::bench {

/// What it costs a process to keep 10,000 nodes alive.
void bench_agent(Report& report);

}  // namespace muster::bench
