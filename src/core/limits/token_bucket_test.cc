#include "core/limits/token_bucket.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace muster {
namespace token_bucket_test {

constexpr MonoTime kStart{100s};

/// Takes single tokens until refused.
int drain(TokenBucket& bucket, MonoTime now) {
  int taken = 0;
  while (bucket.try_take(now)) ++taken;
  return taken;
}

TEST(TokenBucketTest, BeginsWithTheBurst) {
  TokenBucket bucket({.per_minute = 10, .burst = 5}, kStart);
  EXPECT_TRUE(bucket.full(kStart));
  EXPECT_EQ(bucket.available(kStart), 5u);
  EXPECT_EQ(drain(bucket, kStart), 5);
  EXPECT_FALSE(bucket.full(kStart));
}

// T26: "per minute" refilled per second there. Ten a minute is one every six seconds.
TEST(TokenBucketTest, PerMinuteMeansPerMinute) {
  TokenBucket bucket({.per_minute = 10, .burst = 5}, kStart);
  drain(bucket, kStart);
  EXPECT_FALSE(bucket.try_take(kStart + 6s - 1ns));
  EXPECT_TRUE(bucket.try_take(kStart + 6s));
  EXPECT_FALSE(bucket.try_take(kStart + 6s));
  int taken = 0;
  for (MonoTime now = kStart + 6s; now <= kStart + 66s; now += 100ms) taken += drain(bucket, now);
  EXPECT_EQ(taken, 10);
}

TEST(TokenBucketTest, IdlenessNeverSavesMoreThanTheBurst) {
  TokenBucket bucket({.per_minute = 50'000, .burst = 1000}, kStart);
  drain(bucket, kStart);
  EXPECT_EQ(drain(bucket, kStart + 24h * 365 * 100), 1000);
}

TEST(TokenBucketTest, RetryAfterIsExactToTheNanosecond) {
  // 60 s / 7 does not divide evenly.
  TokenBucket bucket({.per_minute = 7, .burst = 3}, kStart);
  drain(bucket, kStart);
  const Duration wait = bucket.retry_after(kStart);
  EXPECT_EQ(wait, 8571428572ns);
  EXPECT_EQ(bucket.retry_after(kStart + wait - 1ns), 1ns);
  EXPECT_FALSE(TokenBucket(bucket).try_take(kStart + wait - 1ns));
  EXPECT_EQ(bucket.retry_after(kStart + wait), 0ns);
  EXPECT_TRUE(bucket.try_take(kStart + wait));
}

TEST(TokenBucketTest, AskingOftenNeitherGainsNorLoses) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    const Rate rate{.per_minute = static_cast<std::uint32_t>(1 + random.below(100'000)),
                    .burst = static_cast<std::uint32_t>(1 + random.below(1000))};
    TokenBucket asked(rate, kStart);
    drain(asked, kStart);
    TokenBucket left_alone = asked;
    // Asks for more than there is at odd moments: each refusal counts the credit anew.
    MonoTime now = kStart;
    for (int n = 0; n < 50; ++n) {
      now += random.between(0ns, 1ms);
      EXPECT_FALSE(asked.try_take(now, rate.burst + 1));
    }
    const std::uint32_t wanted = static_cast<std::uint32_t>(1 + random.below(rate.burst));
    EXPECT_EQ(asked.retry_after(now, wanted), left_alone.retry_after(now, wanted));
    const MonoTime ready = now + asked.retry_after(now, wanted);
    if (ready > now) {
      EXPECT_FALSE(asked.try_take(ready - 1ns, wanted));
    }
    EXPECT_TRUE(asked.try_take(ready, wanted)) << "round " << round;
  }
}

TEST(TokenBucketTest, RefusalTakesNothing) {
  TokenBucket bucket({.per_minute = 60, .burst = 4}, kStart);
  EXPECT_TRUE(bucket.try_take(kStart, 3));
  EXPECT_FALSE(bucket.try_take(kStart, 2));
  EXPECT_TRUE(bucket.try_take(kStart, 1));
}

TEST(TokenBucketTest, MoreThanTheBurstIsNeverGranted) {
  TokenBucket bucket({.per_minute = 60, .burst = 4}, kStart);
  EXPECT_FALSE(bucket.try_take(kStart + 24h, 5));
  EXPECT_EQ(bucket.retry_after(kStart, 5), Duration::max());
  EXPECT_EQ(bucket.retry_after(kStart, UINT32_MAX), Duration::max());
  EXPECT_TRUE(bucket.try_take(kStart, 4));
}

TEST(TokenBucketTest, ClockThatGoesBackRefillsNothing) {
  TokenBucket bucket({.per_minute = 60, .burst = 1}, kStart);
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart - 50s));
  // Had the clock's step back been believed, this would be 50 s later and grant.
  EXPECT_FALSE(bucket.try_take(kStart));
  EXPECT_EQ(bucket.retry_after(kStart - 50s), 51s);
  EXPECT_TRUE(bucket.try_take(kStart + 1s));
}

TEST(TokenBucketTest, LargestBurstDoesNotOverflow) {
  TokenBucket bucket({.per_minute = UINT32_MAX, .burst = TokenBucket::kBurstMax}, kStart);
  EXPECT_TRUE(bucket.try_take(kStart, TokenBucket::kBurstMax));
  EXPECT_FALSE(bucket.try_take(kStart));
  const Duration wait = bucket.retry_after(kStart, TokenBucket::kBurstMax);
  EXPECT_FALSE(bucket.try_take(kStart + wait - 1ns, TokenBucket::kBurstMax));
  EXPECT_TRUE(bucket.try_take(kStart + wait, TokenBucket::kBurstMax));
}

TEST(TokenBucketDeathTest, RefusesARateThatWouldNeverRefill) {
  EXPECT_DEATH(TokenBucket({.per_minute = 0, .burst = 1}, kStart), "CHECK failed");
  EXPECT_DEATH(TokenBucket({.per_minute = 1, .burst = 0}, kStart), "CHECK failed");
}

TEST(TokenBucketTest, WhatIsGivenBackCanBeTakenAgainAndNoMore) {
  const MonoTime now{};
  TokenBucket bucket({10, 2}, now);
  ASSERT_TRUE(bucket.try_take(now, 2));
  bucket.give_back(now);
  EXPECT_EQ(bucket.available(now), 1U);
  bucket.give_back(now, 5);
  EXPECT_EQ(bucket.available(now), 2U);
}

TEST(TokenBucketTest, WhatHasRefilledUntilATokenIsGivenBackIsCountedOnce) {
  const MonoTime later = kStart + 12s;  // Two tokens' time.
  TokenBucket bucket({10, 10}, kStart);
  ASSERT_TRUE(bucket.try_take(kStart, 10));
  bucket.give_back(later);
  EXPECT_EQ(bucket.available(later), 3U);
  EXPECT_EQ(bucket.available(later + 6s), 4U);
}

}  // namespace token_bucket_test
}  // namespace muster
