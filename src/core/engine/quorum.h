#pragma once

#include <map>
#include <string>

namespace muster::engine {

/// Why the members of an engine cannot agree, and what to do. `up` says of each server by name
/// whether it answers. "no quorum: 1 of 3 servers up; start s2 or s3". Pure.
[[nodiscard]] std::string quorum_words(const std::map<std::string, bool>& up);

}  // namespace muster::engine
