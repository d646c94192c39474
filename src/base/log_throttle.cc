#include "base/log_throttle.h"

#include <utility>

namespace muster {

LogThrottle::Verdict LogThrottle::judge(const LogLine& line, MonoTime now) {
  Kind& kind = kinds_[to_string(line.level) + std::string(" ") + std::string(line.message)];
  if (kind.passed == 0 || now - kind.window_began >= options_.window) {
    kind.window_began = now;
    kind.passed = 0;
  }
  // What an operator must see is never left out.
  if (kind.passed >= options_.lines_max && line.level != LogLevel::kError) {
    ++kind.left_out;
    ++suppressed_;
    return {false, 0};
  }
  ++kind.passed;
  return {true, std::exchange(kind.left_out, 0)};
}

}  // namespace muster
