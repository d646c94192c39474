#include "core/limits/client_limiter.h"

#include <string>

#include <gtest/gtest.h>

namespace muster {
namespace client_limiter_test {

constexpr MonoTime kStart{100s};
constexpr Rate kEach{.per_minute = 10, .burst = 5};

bool take(ClientLimiter& limiter, const std::string& client, MonoTime now) {
  return limiter.bucket(client, now).try_take(now);
}

TEST(ClientLimiterTest, ClientsDoNotSpendEachOthersTokens) {
  ClientLimiter limiter({.each = kEach, .newcomers = kEach}, kStart);
  for (int n = 0; n < 5; ++n) EXPECT_TRUE(take(limiter, "a", kStart));
  EXPECT_FALSE(take(limiter, "a", kStart));
  EXPECT_TRUE(take(limiter, "b", kStart));
  EXPECT_EQ(limiter.bucket("a", kStart).retry_after(kStart), 6s);
}

// T24, T26: a million clients at once are bounded in memory and in what they are granted.
TEST(ClientLimiterTest, MillionClientsAreBounded) {
  ClientLimiter limiter(
      {.each = kEach, .newcomers = {.per_minute = 60, .burst = 50}, .clients_max = 1000}, kStart);
  int granted = 0;
  for (int n = 0; n < 1'000'000; ++n) {
    granted += take(limiter, "client-" + std::to_string(n), kStart) ? 1 : 0;
  }
  EXPECT_EQ(limiter.clients(), 1000u);
  EXPECT_EQ(granted, 1000 + 50);
}

// With plain eviction each of these clients would return to a fresh bucket, for ever.
TEST(ClientLimiterTest, TakingTurnsWithMoreNamesThanPlacesGainsNothing) {
  ClientLimiter limiter(
      {.each = kEach, .newcomers = {.per_minute = 1, .burst = 1}, .clients_max = 10}, kStart);
  int granted = 0;
  for (int round = 0; round < 100; ++round) {
    for (int n = 0; n < 11; ++n) granted += take(limiter, std::to_string(n), kStart) ? 1 : 0;
  }
  EXPECT_EQ(granted, 10 * 5 + 1);
}

TEST(ClientLimiterTest, FloodOfNamesDoesNotSlowKnownClients) {
  ClientLimiter limiter({.each = kEach, .newcomers = kEach, .clients_max = 10}, kStart);
  ASSERT_TRUE(take(limiter, "known", kStart));
  for (int n = 0; n < 1000; ++n) {
    [[maybe_unused]] const bool granted = take(limiter, "flood-" + std::to_string(n), kStart);
  }
  EXPECT_EQ(limiter.bucket("known", kStart).available(kStart), 4u);
}

TEST(ClientLimiterTest, NewcomerGetsAPlaceOnceTheOldestHasRefilled) {
  ClientLimiter limiter({.each = kEach, .newcomers = kEach, .clients_max = 1}, kStart);
  ASSERT_TRUE(take(limiter, "old", kStart));
  for (int n = 0; n < 5; ++n) ASSERT_TRUE(take(limiter, "new", kStart));
  EXPECT_FALSE(take(limiter, "new", kStart));
  // Six seconds later the old client's one token is back, and so its place can be given away.
  EXPECT_EQ(limiter.bucket("new", kStart + 6s).available(kStart + 6s), 5u);
}

}  // namespace client_limiter_test
}  // namespace muster
