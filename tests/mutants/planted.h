#pragma once

#include <string_view>

namespace muster {

/// The name of the bug that is switched on in this process; empty: none is.
inline std::string_view planted_bug;

/// Whether the bug of this name is switched on.
[[nodiscard]] inline bool planted(std::string_view name) {
  return name == planted_bug;
}

}  // namespace muster
