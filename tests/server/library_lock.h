#pragma once

#include <cstdint>
#include <functional>
#include <string>

/// The locks of the public library, in a source of their own: its names and internal ones do not
/// mix.
namespace library_lock {

/// Takes the lock `times` times, and calls `inside` with each token while it is held. The failure
/// in words; empty: none. Any thread.
[[nodiscard]] std::string take(const std::string& url, const std::string& name, int times,
                               const std::function<void(std::uint64_t token)>& inside);

}  // namespace library_lock
