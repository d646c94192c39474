#pragma once

#include <string>

namespace muster {

[[nodiscard]] std::string host_name();
/// The host's name and this process's id: a worker id that people recognize. Not unique for ever;
/// what must be is an incarnation.
[[nodiscard]] std::string default_worker_id();

}  // namespace muster
