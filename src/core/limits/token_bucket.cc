#include "core/limits/token_bucket.h"

#include <algorithm>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::uint64_t kUnitsPerToken = Duration(1min).count();
static_assert(UINT64_MAX / kUnitsPerToken > TokenBucket::kBurstMax);

/// Nanoseconds until `units` have been added, rounded up: one earlier is too early.
std::uint64_t wait_ns(std::uint64_t units, Rate rate) {
  return (units + rate.per_minute - 1) / rate.per_minute;
}

}  // namespace

TokenBucket::TokenBucket(Rate rate, MonoTime now)
    : credit_(rate.burst * kUnitsPerToken), counted_at_(now), rate_(rate) {
  MUSTER_CHECK(rate.per_minute > 0);
  MUSTER_CHECK(rate.burst > 0 && rate.burst <= kBurstMax);
}

bool TokenBucket::try_take(MonoTime now, std::uint32_t tokens) {
  credit_ = credit_at(now);
  if (now > counted_at_) counted_at_ = now;
  const std::uint64_t cost = tokens * kUnitsPerToken;
  if (tokens > rate_.burst || credit_ < cost) return false;
  credit_ -= cost;
  return true;
}

void TokenBucket::give_back(MonoTime now, std::uint32_t tokens) {
  const std::uint64_t capacity = rate_.burst * kUnitsPerToken;
  credit_ = credit_at(now);
  if (now > counted_at_) counted_at_ = now;
  const std::uint64_t cost = std::min(tokens, rate_.burst) * kUnitsPerToken;
  credit_ = cost >= capacity - credit_ ? capacity : credit_ + cost;
}

Duration TokenBucket::retry_after(MonoTime now, std::uint32_t tokens) const {
  if (tokens > rate_.burst) return Duration::max();
  const std::uint64_t cost = tokens * kUnitsPerToken;
  const std::uint64_t credit = credit_at(now);
  if (credit >= cost) return Duration::zero();
  const Duration wait(static_cast<Duration::rep>(wait_ns(cost - credit, rate_)));
  // After a clock that went back, refilling resumes only where it was last counted.
  return now < counted_at_ ? wait + (counted_at_ - now) : wait;
}

std::uint32_t TokenBucket::available(MonoTime now) const {
  return static_cast<std::uint32_t>(credit_at(now) / kUnitsPerToken);
}

bool TokenBucket::full(MonoTime now) const {
  return credit_at(now) == rate_.burst * kUnitsPerToken;
}

std::uint64_t TokenBucket::credit_at(MonoTime now) const {
  if (now <= counted_at_) return credit_;
  const std::uint64_t capacity = rate_.burst * kUnitsPerToken;
  const auto elapsed_ns = static_cast<std::uint64_t>((now - counted_at_).count());
  // Asking first whether it is full keeps the product below from overflowing after long idleness.
  if (elapsed_ns >= wait_ns(capacity - credit_, rate_)) return capacity;
  return credit_ + elapsed_ns * rate_.per_minute;
}

}  // namespace muster
