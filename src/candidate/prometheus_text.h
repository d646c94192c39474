#pragma once

#include <string>

#include "candidate/candidate.h"

namespace muster {

/// What a candidate measures, in Prometheus' text format, as of now. The names begin with
/// muster_candidate_; the namespace is a label. Any thread.
[[nodiscard]] std::string prometheus_text(const std::string& name_space,
                                          const Candidate& candidate);

}  // namespace muster
