#include <cstdlib>

#include "base/text.h"
#include "cli/event_text.h"
#include "cli/manual.h"
#include "platform/system_clock.h"

namespace muster::cli {

Result<std::string> manual_date() {
  constexpr std::size_t kDateLength = 10;  // YYYY-MM-DD
  WallTime day = system_wall_now();
  if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH"); fixed != nullptr && *fixed != '\0') {
    const auto seconds = parse_unsigned(fixed);
    constexpr std::uint64_t kYear9999 = 253'370'764'800;
    if (!seconds || *seconds >= kYear9999) {
      return {Errc::kInvalid, std::string("SOURCE_DATE_EPOCH: \"") + fixed +
                                  "\" is not a number of seconds since 1970"};
    }
    day = WallTime(std::chrono::seconds(*seconds));
  }
  return format_time(day).substr(0, kDateLength);
}

}  // namespace muster::cli
