#include "core/limits/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace histogram_test {

using ::testing::ElementsAre;

TEST(HistogramTest, BoundBelongsToItsBucket) {
  Histogram histogram({10ms, 100ms});
  histogram.observe(0ms);
  histogram.observe(10ms);
  histogram.observe(10ms + 1ns);
  histogram.observe(100ms);
  EXPECT_THAT(histogram.counts(), ElementsAre(2, 2, 0));
}

TEST(HistogramTest, WhatExceedsEveryBoundIsCountedLast) {
  Histogram histogram({10ms, 100ms});
  histogram.observe(100ms + 1ns);
  histogram.observe(1h);
  EXPECT_THAT(histogram.counts(), ElementsAre(0, 0, 2));
}

TEST(HistogramTest, CountAndSumAreExact) {
  Histogram histogram({1ms});
  for (int n = 0; n < 1000; ++n) histogram.observe(1ms + 1ns);
  EXPECT_EQ(histogram.count(), 1000u);
  EXPECT_EQ(histogram.sum(), 1s + 1us);
}

TEST(HistogramTest, ElectionBucketsSpanAFastRequestToASlowFailover) {
  Histogram histogram = Histogram::for_elections();
  ASSERT_EQ(histogram.counts().size(), histogram.bounds().size() + 1);
  histogram.observe(5ms);
  histogram.observe(15s);
  histogram.observe(1min);
  EXPECT_EQ(histogram.counts().front(), 1u);
  EXPECT_EQ(histogram.counts().back(), 1u);
  EXPECT_EQ(histogram.count(), 3u);
}

TEST(HistogramDeathTest, RefusesBoundsThatDoNotRise) {
  EXPECT_DEATH(Histogram({10ms, 10ms}), "CHECK failed");
  EXPECT_DEATH(Histogram({}), "CHECK failed");
}

}  // namespace histogram_test
}  // namespace muster
