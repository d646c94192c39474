#pragma once

#include <string>

#include "base/time.h"
#include "coordinator/events.h"

namespace muster::cli {

/// One line for people: 2031-05-06T07:08:09.012Z leader:changed nobody → w1, epoch 1
[[nodiscard]] std::string event_text(const CoordinatorEvent& event, WallTime at);
/// One JSON object on one line: the event as the library gives it, and `time`.
[[nodiscard]] std::string event_json(const CoordinatorEvent& event, WallTime at);
/// RFC 3339 in UTC, with milliseconds.
[[nodiscard]] std::string format_time(WallTime at);

}  // namespace muster::cli
