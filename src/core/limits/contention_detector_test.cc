#include "core/limits/contention_detector.h"

#include <gtest/gtest.h>

namespace muster {
namespace contention_detector_test {

constexpr MonoTime kStart{100s};

// Scenario: Contention detected
TEST(ContentionDetectorTest, ContentionDetected) {
  ContentionDetector detector({}, 5s);
  const auto event = detector.cycle_completed(12500ms, kStart);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->duration, 12500ms);
  EXPECT_EQ(event->expected, 5s);
  EXPECT_EQ(event->ratio, 2.5);
  EXPECT_EQ(detector.occurrences(), 1u);
}

// Scenario: Contention rate limited
TEST(ContentionDetectorTest, ContentionRateLimited) {
  ContentionDetector detector({}, 5s);
  EXPECT_TRUE(detector.cycle_completed(11s, kStart));
  EXPECT_FALSE(detector.cycle_completed(11s, kStart + 11s));
  EXPECT_FALSE(detector.cycle_completed(11s, kStart + 30s - 1ns));
  EXPECT_EQ(detector.occurrences(), 3u);
  EXPECT_TRUE(detector.cycle_completed(11s, kStart + 30s));
  EXPECT_EQ(detector.occurrences(), 4u);
}

// Scenario: Contention detection disabled
TEST(ContentionDetectorTest, ContentionDetectionDisabled) {
  ContentionDetector detector({.enabled = false}, 5s);
  EXPECT_FALSE(detector.cycle_completed(1h, kStart));
  EXPECT_EQ(detector.occurrences(), 0u);
}

TEST(ContentionDetectorTest, CycleOfExactlyTheThresholdIsNoContention) {
  ContentionDetector detector({}, 5s);
  EXPECT_FALSE(detector.cycle_completed(10s, kStart));
  EXPECT_EQ(detector.occurrences(), 0u);
  EXPECT_TRUE(detector.cycle_completed(10s + 1ns, kStart));
}

// Neither 1.1 nor 2.3 is a binary fraction; the comparison must not depend on how they round.
TEST(ContentionDetectorTest, FractionalThresholdIsExact) {
  ContentionDetector first({.threshold = 1.1}, 5s);
  EXPECT_FALSE(first.cycle_completed(5500ms, kStart));
  EXPECT_TRUE(first.cycle_completed(5500ms + 1ns, kStart));
  ContentionDetector second({.threshold = 2.3}, 7s);
  EXPECT_FALSE(second.cycle_completed(16100ms, kStart));
  EXPECT_TRUE(second.cycle_completed(16100ms + 1ns, kStart));
}

TEST(ContentionDetectorTest, SuppressedOccurrencesDoNotPostponeTheNextEvent) {
  ContentionDetector detector({.rate_limit = 10s}, 1s);
  EXPECT_TRUE(detector.cycle_completed(3s, kStart));
  for (int second = 1; second < 10; ++second) {
    EXPECT_FALSE(detector.cycle_completed(3s, kStart + std::chrono::seconds(second)));
  }
  EXPECT_TRUE(detector.cycle_completed(3s, kStart + 10s));
}

}  // namespace contention_detector_test
}  // namespace muster
