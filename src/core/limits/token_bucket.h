#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster {

/// How often something may happen: `per_minute` in the long run, `burst` at once.
struct Rate {
  std::uint32_t per_minute;
  std::uint32_t burst;
  bool operator==(const Rate&) const = default;
};

/// Lets through what a Rate allows and tells the rest exactly when to come again. It begins full
/// and refills steadily: 10 per minute is one every 6 s, not ten on the minute. All arithmetic is
/// in integers, so no credit is lost or gained however often it is asked. A clock that goes back
/// refills nothing. Pure; one thread.
class TokenBucket {
 public:
  static constexpr std::uint32_t kBurstMax = 100'000'000;

  /// Both numbers of `rate` must be positive, its burst at most kBurstMax.
  TokenBucket(Rate rate, MonoTime now);

  /// Takes that many tokens, or none.
  [[nodiscard]] bool try_take(MonoTime now, std::uint32_t tokens = 1);

  /// Undoes taking them: what they were for did not happen. Never more than the burst is there.
  void give_back(MonoTime now, std::uint32_t tokens = 1);

  /// The shortest wait from `now` after which try_take succeeds if nobody takes meanwhile: zero
  /// when it would at once, Duration::max() when `tokens` exceeds the burst.
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
