#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/requests.h"

namespace muster::cli {

/// A decision with the names of the wire; what was not part of it is left out.
[[nodiscard]] nlohmann::ordered_json to_json(const client::DecisionRecord& decision);
/// One line for each: when, and the sentence.
[[nodiscard]] std::string timeline(const std::vector<client::DecisionRecord>& decisions);

}  // namespace muster::cli
