#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Bounds for JSON that other processes write into a store. A parsed value takes some hundred
/// bytes, however short its text is, so a few megabytes of brackets would take half a gigabyte.
constexpr std::size_t kJsonBytesMax = std::size_t{16} << 20;
constexpr std::size_t kJsonDepthMax = 32;
/// A state lists every worker; no fleet comes near this.
constexpr std::size_t kJsonValuesMax = 250'000;

/// Returns kCorrupt and the bound that is exceeded if parsing the text would take more memory than
/// an honest writer needs. Not guaranteed: that the text is JSON. Allocates nothing.
[[nodiscard]] Status check_json_bounds(std::string_view text);

}  // namespace muster
