#include "elector/store_failures.h"

#include <algorithm>
#include <string>
#include <utility>

namespace muster {

void StoreFailures::note(const Error& error, LogLine::Fields where, MonoTime now, bool told) {
  // The throttle tells kinds apart by their message.
  const LogThrottle::Verdict verdict =
      throttle_.judge({LogLevel::kWarn, to_string(error.code), {}}, now);
  if (told || !verdict.pass) return;
  where.emplace_back("error", to_string(error.code));
  where.emplace_back("message", error.message);
  if (verdict.left_out > 0) where.emplace_back("left_out", std::to_string(verdict.left_out));
  log_warn("store request failed", std::move(where));
}

Duration StoreFailures::until_next_probe(const Error& error, Duration interval) {
  if (!is_lasting(error.code)) {
    lasting_ = 0;
    return interval;
  }
  const Duration wait = interval * (1U << std::min(lasting_++, 10U));
  return std::clamp(wait, interval, std::max(interval, kQuiet));
}

}  // namespace muster
