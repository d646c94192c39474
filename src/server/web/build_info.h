#pragma once

namespace muster::server {

/// What this program was built from.
struct BuildInfo {
  const char* version;
  const char* commit;  ///< "unknown" when it was not built from a repository.
};
[[nodiscard]] BuildInfo build_info();

}  // namespace muster::server
