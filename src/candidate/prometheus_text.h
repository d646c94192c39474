#pragma once

#include <string>

#include "candidate/candidate.h"

namespace muster {

/// The measurements of a candidate, now, in Prometheus' text format. The names begin with
/// muster_candidate_; the election is the label `namespace`. Any thread.
[[nodiscard]] std::string prometheus_text(const std::string& name_space,
                                          const Candidate& candidate);

}  // namespace muster
