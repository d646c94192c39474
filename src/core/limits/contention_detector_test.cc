#include "core/limits/contention_detector.h"

#include <gtest/gtest.h>

namespace muster {
namespace contention_detector_test {

constexpr MonoTime kStart{100s};

/// A detector whose last heartbeat succeeded at kStart.
ContentionDetector after_a_heartbeat(ContentionOptions options = {}, Duration interval = 5s) {
  ContentionDetector detector(options, interval);
  EXPECT_FALSE(detector.attempted(kStart - 1ms, kStart, true));
  return detector;
}

// Scenario: Contention detected
TEST(ContentionDetectorTest, ContentionDetected) {
  ContentionDetector detector = after_a_heartbeat();
  const auto event = detector.attempted(kStart + 5s, kStart + 12500ms, true);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->duration, 12500ms);
  EXPECT_EQ(event->expected, 5s);
  EXPECT_EQ(event->ratio, 2.5);
  EXPECT_EQ(detector.occurrences(), 1u);
}

// R11: at default settings a request ends after 3 s and an attempt after 6 s, in vain.
TEST(ContentionDetectorTest, AttemptsThatFailAreNoReasonToWaitUntilOneSucceeds) {
  ContentionDetector detector = after_a_heartbeat();
  const auto event = detector.attempted(kStart + 5s, kStart + 11s, false);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->duration, 11s);
  EXPECT_FALSE(detector.attempted(kStart + 12s, kStart + 15s, false));
  EXPECT_EQ(detector.occurrences(), 1u) << "the same heartbeat, repeated";
  EXPECT_FALSE(detector.attempted(kStart + 16s, kStart + 19s, true));
  EXPECT_EQ(detector.occurrences(), 2u) << "still late, an interval later";
  EXPECT_FALSE(detector.attempted(kStart + 24s, kStart + 25s, true));
  EXPECT_EQ(detector.occurrences(), 2u);
}

TEST(ContentionDetectorTest, TheFirstHeartbeatCountsFromItsFirstAttempt) {
  ContentionDetector detector({}, 5s);
  EXPECT_FALSE(detector.attempted(kStart, kStart + 6s, false));
  EXPECT_TRUE(detector.attempted(kStart + 7s, kStart + 11s, false));
}

// Scenario: Contention rate limited
TEST(ContentionDetectorTest, ContentionRateLimited) {
  ContentionDetector detector = after_a_heartbeat();
  MonoTime now = kStart;
  const auto late = [&](Duration took) {
    now += took;
    return detector.attempted(now - 1s, now, true);
  };
  EXPECT_TRUE(late(11s));
  EXPECT_FALSE(late(11s));
  EXPECT_FALSE(late(19s - 1ns));
  EXPECT_EQ(detector.occurrences(), 3u);
  EXPECT_TRUE(late(11s));
  EXPECT_EQ(detector.occurrences(), 4u);
}

// Scenario: Contention detection disabled
TEST(ContentionDetectorTest, ContentionDetectionDisabled) {
  ContentionDetector detector = after_a_heartbeat({.enabled = false});
  EXPECT_FALSE(detector.attempted(kStart, kStart + 1h, true));
  EXPECT_EQ(detector.occurrences(), 0u);
}

TEST(ContentionDetectorTest, ExactlyTheThresholdIsNoContention) {
  ContentionDetector detector = after_a_heartbeat();
  EXPECT_FALSE(detector.attempted(kStart, kStart + 10s, false));
  EXPECT_EQ(detector.occurrences(), 0u);
  EXPECT_TRUE(detector.attempted(kStart, kStart + 10s + 1ns, true));
}

// Neither 1.1 nor 2.3 is a binary fraction; the comparison must not depend on how they round.
TEST(ContentionDetectorTest, FractionalThresholdIsExact) {
  ContentionDetector first = after_a_heartbeat({.threshold = 1.1});
  EXPECT_FALSE(first.attempted(kStart, kStart + 5500ms, false));
  EXPECT_TRUE(first.attempted(kStart, kStart + 5500ms + 1ns, true));
  ContentionDetector second = after_a_heartbeat({.threshold = 2.3}, 7s);
  EXPECT_FALSE(second.attempted(kStart, kStart + 16100ms, false));
  EXPECT_TRUE(second.attempted(kStart, kStart + 16100ms + 1ns, true));
}

TEST(ContentionDetectorTest, SuppressedOccurrencesDoNotPostponeTheNextEvent) {
  ContentionDetector detector = after_a_heartbeat({.rate_limit = 12s}, 1s);
  EXPECT_TRUE(detector.attempted(kStart, kStart + 3s, true));
  for (int i = 2; i < 5; ++i) {
    EXPECT_FALSE(detector.attempted(kStart, kStart + i * 3s, true));
  }
  EXPECT_TRUE(detector.attempted(kStart, kStart + 15s, true));
}

}  // namespace contention_detector_test
}  // namespace muster
