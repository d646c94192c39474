#include "core/limits/request_limits.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace request_limits_test {

constexpr MonoTime kStart{};

int taken_at_once(RequestLimits& limits, LimitedCall call, const std::string& client) {
  int taken = 0;
  while (taken < 100'000 && !limits.take(call, client, kStart)) ++taken;
  return taken;
}

TEST(RequestLimitsTest, EachClientHasTheDocumentedBursts) {
  RequestLimits limits({}, kStart);
  EXPECT_EQ(taken_at_once(limits, LimitedCall::kHeartbeat, "n1"), 5);
  EXPECT_EQ(taken_at_once(limits, LimitedCall::kRegister, "n1"), 2);
  EXPECT_EQ(taken_at_once(limits, LimitedCall::kDeregister, "n1"), 2);
  EXPECT_EQ(taken_at_once(limits, LimitedCall::kGetTopology, "n1"), 10);
  EXPECT_EQ(taken_at_once(limits, LimitedCall::kHeartbeat, "n2"), 5);
}

// T26: ten a minute is one every six seconds.
TEST(RequestLimitsTest, RatesArePerMinuteAndTheWaitIsExact) {
  RequestLimits limits({}, kStart);
  taken_at_once(limits, LimitedCall::kHeartbeat, "n1");
  EXPECT_EQ(limits.take(LimitedCall::kHeartbeat, "n1", kStart), Duration(6s));
  EXPECT_EQ(limits.take(LimitedCall::kHeartbeat, "n1", kStart + 5s), Duration(1s));
  EXPECT_EQ(limits.take(LimitedCall::kHeartbeat, "n1", kStart + 6s), std::nullopt);
}

TEST(RequestLimitsTest, AllClientsTogetherHaveTheDocumentedBursts) {
  RequestLimits limits({}, kStart);
  int taken = 0;
  for (int i = 0; i < 2'000; ++i) {
    if (!limits.take(LimitedCall::kHeartbeat, "n" + std::to_string(i), kStart)) ++taken;
  }
  EXPECT_EQ(taken, 500);
  EXPECT_EQ(taken_at_once(limits, LimitedCall::kWrite, "x"), 300) << "200 are kept";
  taken = 0;
  RequestLimits others({}, kStart);
  for (int i = 0; i < 2'000; ++i) {
    if (!others.take(LimitedCall::kRegister, "n" + std::to_string(i), kStart)) ++taken;
  }
  EXPECT_EQ(taken, 50);
}

// Anyone who may write could otherwise have every node taken for dead.
TEST(RequestLimitsTest, HeartbeatsDoNotStarveBehindAFloodOfWrites) {
  RequestLimits limits({}, kStart);
  MonoTime now = kStart;
  int beats = 0;
  // A minute of as many writes as pass, and 150 nodes a second.
  for (int tick = 0; tick < 6'000; ++tick, now += 10ms) {
    while (!limits.take(LimitedCall::kWrite, "flood", now)) {
    }
    if (tick % 2 != 0) continue;
    for (int i = 0; i < 3; ++i) {
      const std::string node = "n" + std::to_string(++beats);
      ASSERT_FALSE(limits.take(LimitedCall::kHeartbeat, node, now)) << beats;
    }
  }
  EXPECT_EQ(beats, 9'000);
}

TEST(RequestLimitsTest, SmallBurstsAreNotDivided) {
  RequestLimitOptions options;
  options.all_writes = {60, 3};
  RequestLimits limits(options, kStart);
  EXPECT_EQ(taken_at_once(limits, LimitedCall::kWrite, "x"), 3);
}

TEST(RequestLimitsTest, ARefusalTakesNothingFromAnyBucket) {
  RequestLimitOptions options;
  options.all_heartbeats = {10, 1};
  RequestLimits limits(options, kStart);
  ASSERT_FALSE(limits.take(LimitedCall::kHeartbeat, "n1", kStart));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limits.take(LimitedCall::kHeartbeat, "n2", kStart));
  limits.give_back(LimitedCall::kHeartbeat, "n1", kStart);
  EXPECT_FALSE(limits.take(LimitedCall::kHeartbeat, "n2", kStart));
}

// A request refused because nobody leads costs nothing.
TEST(RequestLimitsTest, WhatIsGivenBackCostsNothing) {
  RequestLimits limits({}, kStart);
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(limits.take(LimitedCall::kRegister, "n1", kStart));
    limits.give_back(LimitedCall::kRegister, "n1", kStart);
  }
}

TEST(RequestLimitsTest, WatchesAreCountedAndGivenBack) {
  RequestLimits limits({}, kStart);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limits.open_watch("n1"));
  EXPECT_FALSE(limits.open_watch("n1"));
  EXPECT_TRUE(limits.open_watch("n2"));
  limits.close_watch("n1");
  EXPECT_TRUE(limits.open_watch("n1"));
  EXPECT_EQ(limits.watches("n1"), 10U);
}

TEST(RequestLimitsTest, CallsAreCountedAndGivenBack) {
  RequestLimits limits({}, kStart);
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(limits.open_call("n1"));
  EXPECT_FALSE(limits.open_call("n1"));
  EXPECT_TRUE(limits.open_call("n2"));
  limits.close_call("n1");
  EXPECT_TRUE(limits.open_call("n1"));
}

// T24: the one who floods gains nothing, and those already known lose nothing.
TEST(RequestLimitsTest, MillionClientsTakeNothingFromAKnownOne) {
  RequestLimitOptions options;
  options.all_heartbeats = options.all_writes = {50'000'000, 50'000'000};
  RequestLimits limits(options, kStart);
  ASSERT_FALSE(limits.take(LimitedCall::kHeartbeat, "n1", kStart));
  int passed = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    if (!limits.take(LimitedCall::kHeartbeat, "flood-" + std::to_string(i), kStart)) ++passed;
  }
  EXPECT_LT(passed, 66'000);
  EXPECT_FALSE(limits.take(LimitedCall::kHeartbeat, "n1", kStart));
}

TEST(RequestLimitsTest, OtherLimitsHoldFromNowOnAndKeepTheCounts) {
  RequestLimits limits({}, kStart);
  ASSERT_TRUE(limits.open_watch("n1"));
  RequestLimitOptions options;
  options.watches = 1;
  options.get_topology = {60, 1};
  limits.use(options, kStart);
  EXPECT_FALSE(limits.open_watch("n1"));
  EXPECT_EQ(taken_at_once(limits, LimitedCall::kGetTopology, "n1"), 1);
}

TEST(RequestLimitsTest, ARateIsTwoNumbersAboveZero) {
  EXPECT_EQ(parse_rate("10:5").value(), (Rate{10, 5}));
  for (const char* bad : {"", "10", "10:", ":5", "0:5", "10:0", "-1:5", "10:5:1", "10:200000000"}) {
    EXPECT_TRUE(parse_rate(bad).is(Errc::kInvalid)) << bad;
  }
}

TEST(RequestLimitsTest, SaysHowLargeAFleetItAllows) {
  const RequestLimitOptions defaults;
  EXPECT_EQ(defaults.nodes_max(10s), 1'666U);
  EXPECT_TRUE(defaults.validate(10s).ok());
  EXPECT_TRUE(defaults.validate(6s).ok());
  EXPECT_TRUE(defaults.validate(5s).is(Errc::kInvalid));
}

}  // namespace request_limits_test
}  // namespace muster
