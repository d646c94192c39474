#pragma once

#include <string>

#include "base/result.h"

namespace muster {

[[nodiscard]] std::string host_name();
/// The host's name and this process's id: a worker id that people recognize. Not unique for ever;
/// what must be is an incarnation.
[[nodiscard]] std::string default_worker_id();

/// How many descriptors this process may have open, once it has asked for as many as it may.
[[nodiscard]] int raise_descriptor_limit();
/// An error names the limit when this process may have fewer than `count` descriptors open.
[[nodiscard]] Status need_descriptors(int count);

}  // namespace muster
