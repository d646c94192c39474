#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"
#include "platform/event_loop.h"

namespace muster::bench {

/// User and system time of this process so far, all its threads together.
[[nodiscard]] Duration process_cpu();

/// What a number of operations cost.
struct Cost {
  std::uint64_t operations = 0;
  Duration wall{0};
  Duration cpu{0};  ///< Of this process, nothing subtracted: the loop that measures is in it.

  [[nodiscard]] double per_second() const;
  [[nodiscard]] double cpu_us() const;  ///< Of one operation.
};

/// Starts one operation and calls `done` at its end. On the loop.
using Operation = std::function<void(std::size_t lane, std::function<void()> done)>;

/// Keeps `lanes` operations under way for `time`; each lane starts its next when its last ended.
[[nodiscard]] Cost run_load(LoopThread& thread, std::size_t lanes, Duration time,
                            const Operation& operation);

}  // namespace muster::bench
