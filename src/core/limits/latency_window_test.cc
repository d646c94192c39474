#include "core/limits/latency_window.h"

#include <gtest/gtest.h>

namespace muster {
namespace latency_window_test {

/// Records first, first + 1, …, last milliseconds.
void record_range(LatencyWindow& window, int first, int last) {
  for (int ms = first; ms <= last; ++ms) window.record(std::chrono::milliseconds(ms));
}

// Scenario: Heartbeat latency tracking
TEST(LatencyWindowTest, HeartbeatLatencyTracking) {
  LatencyWindow window;
  record_range(window, 1, 100);
  const LatencySummary summary = window.summary();
  EXPECT_EQ(summary.count, 100u);
  EXPECT_EQ(summary.p50, 50ms);
  EXPECT_EQ(summary.p95, 95ms);
  EXPECT_EQ(summary.p99, 99ms);
  EXPECT_TRUE(summary.sufficient);
  EXPECT_EQ(summary.note(), "");
}

// Scenario: Metrics with insufficient data
TEST(LatencyWindowTest, MetricsWithInsufficientData) {
  LatencyWindow window;
  record_range(window, 1, 9);
  const LatencySummary nine = window.summary();
  EXPECT_EQ(nine.count, 9u);
  EXPECT_EQ(nine.p50, 0ms);
  EXPECT_EQ(nine.p95, 0ms);
  EXPECT_EQ(nine.p99, 0ms);
  EXPECT_FALSE(nine.sufficient);
  EXPECT_EQ(nine.note(), "insufficient data");

  window.record(10ms);
  EXPECT_TRUE(window.summary().sufficient);
  EXPECT_EQ(window.summary().p99, 10ms);
}

// Scenario: Ring buffer overflow
TEST(LatencyWindowTest, RingBufferOverflow) {
  LatencyWindow window(100);
  window.record(1h);
  record_range(window, 1, 99);
  ASSERT_EQ(window.summary().p99, 99ms);
  record_range(window, 100, 250);
  // 151 … 250 are left.
  const LatencySummary summary = window.summary();
  EXPECT_EQ(summary.count, 100u);
  EXPECT_EQ(summary.p50, 200ms);
  EXPECT_EQ(summary.p99, 249ms);
}

TEST(LatencyWindowTest, TheSamplesAreThereOldestFirst) {
  LatencyWindow window(3);
  EXPECT_TRUE(window.samples().empty());
  record_range(window, 1, 2);
  EXPECT_EQ(window.samples(), (std::vector<Duration>{1ms, 2ms}));
  record_range(window, 3, 5);
  EXPECT_EQ(window.samples(), (std::vector<Duration>{3ms, 4ms, 5ms}));
}

TEST(LatencyWindowTest, OldestSampleIsTheOneDiscarded) {
  LatencyWindow window(10);
  window.record(1h);
  record_range(window, 1, 9);
  EXPECT_EQ(window.summary().p99, 1h);
  window.record(10ms);
  EXPECT_EQ(window.summary().p99, 10ms);
}

TEST(LatencyWindowTest, PercentilesDoNotDependOnTheOrderOfArrival) {
  LatencyWindow window;
  for (int ms = 20; ms >= 1; --ms) window.record(std::chrono::milliseconds(ms));
  EXPECT_EQ(window.summary().p50, 10ms);
  EXPECT_EQ(window.summary().p95, 19ms);
  EXPECT_EQ(window.summary().p99, 20ms);
}

TEST(LatencyWindowTest, WindowSmallerThanTheLeastStillSpeaksOnceEnoughWasRecorded) {
  LatencyWindow window(3);
  record_range(window, 1, 9);
  EXPECT_FALSE(window.summary().sufficient);
  window.record(10ms);
  EXPECT_TRUE(window.summary().sufficient);
  EXPECT_EQ(window.summary().count, 3u);
  EXPECT_EQ(window.summary().p50, 9ms);
}

}  // namespace latency_window_test
}  // namespace muster
