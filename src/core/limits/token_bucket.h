#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster {

/// A rate: `per_minute` in the long run, `burst` at once.
struct Rate {
  std::uint32_t per_minute;
  std::uint32_t burst;
  bool operator==(const Rate&) const = default;
};

/// Enforces a Rate and tells refused callers exactly when to retry. It begins full and refills
/// steadily: 10 per minute is one every 6 s, not ten on the minute. All arithmetic is in integers,
/// so no credit is lost or gained however often it is called. A clock that goes back refills
/// nothing. Pure. Threads: one.
class TokenBucket {
 public:
  static constexpr std::uint32_t kBurstMax = 100'000'000;

  /// Requires: both numbers of `rate` are positive, the burst at most kBurstMax.
  TokenBucket(Rate rate, MonoTime now);

  /// Takes `tokens` tokens, or none.
  [[nodiscard]] bool try_take(MonoTime now, std::uint32_t tokens = 1);

  /// Returns tokens whose action did not happen. Never exceeds the burst.
  void give_back(MonoTime now, std::uint32_t tokens = 1);

  /// The shortest wait from `now` after which try_take succeeds if no other caller takes tokens:
  /// zero if it would at once, Duration::max() if `tokens` exceeds the burst.
  [[nodiscard]] Duration retry_after(MonoTime now, std::uint32_t tokens = 1) const;

  /// Whole tokens that could be taken.
  [[nodiscard]] std::uint32_t available(MonoTime now) const;

  /// True when a new bucket would be no better than this one.
  [[nodiscard]] bool full(MonoTime now) const;

 private:
  [[nodiscard]] std::uint64_t credit_at(MonoTime now) const;

  // In units of 1 / (nanoseconds per minute) token, so that each nanosecond adds exactly
  // rate_.per_minute units.
  std::uint64_t credit_;
  MonoTime counted_at_;
  Rate rate_;
};

}  // namespace muster
