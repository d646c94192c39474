#include "base/metric_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster::metric {
namespace metric_text_test {

TEST(MetricTextTest, EachFamilyHasItsHelpItsTypeAndItsSamples) {
  Text text("muster_", {{"namespace", "jobs"}});
  text.counter("beats_total", "Heartbeats sent", 3);
  text.gauge("left_seconds", "Time left", 9.5);
  text.gauges("state", "1 for the state", "state", {{"open", 0}, {"closed", 1}});
  text.summary("latency_seconds", "Of the latest", {{"0.5", 0.25}});
  EXPECT_EQ(text.text(),
            "# HELP muster_beats_total Heartbeats sent\n"
            "# TYPE muster_beats_total counter\n"
            "muster_beats_total{namespace=\"jobs\"} 3\n"
            "# HELP muster_left_seconds Time left\n"
            "# TYPE muster_left_seconds gauge\n"
            "muster_left_seconds{namespace=\"jobs\"} 9.5\n"
            "# HELP muster_state 1 for the state\n"
            "# TYPE muster_state gauge\n"
            "muster_state{namespace=\"jobs\",state=\"open\"} 0\n"
            "muster_state{namespace=\"jobs\",state=\"closed\"} 1\n"
            "# HELP muster_latency_seconds Of the latest\n"
            "# TYPE muster_latency_seconds summary\n"
            "muster_latency_seconds{namespace=\"jobs\",quantile=\"0.5\"} 0.25\n");
}

TEST(MetricTextTest, AFamilyWithoutASampleLeavesNoTrace) {
  Text text;
  text.counters("lost_total", "Terms that ended", "reason", {});
  EXPECT_EQ(text.text(), "");
  text.counters("gone_total", "Others that ended", "cause", {{"crash", 1}});
  EXPECT_EQ(text.text(),
            "# HELP gone_total Others that ended\n"
            "# TYPE gone_total counter\n"
            "gone_total{cause=\"crash\"} 1\n");
}

TEST(MetricTextTest, AHistogramCountsWhatIsAtMostEachBound) {
  Text text;
  text.histogram("took_seconds", "How long", {{0.01, 0.5, 2.5}, {1, 0, 2, 4}, 20.25});
  EXPECT_EQ(text.text(),
            "# HELP took_seconds How long\n"
            "# TYPE took_seconds histogram\n"
            "took_seconds_bucket{le=\"0.01\"} 1\n"
            "took_seconds_bucket{le=\"0.5\"} 1\n"
            "took_seconds_bucket{le=\"2.5\"} 3\n"
            "took_seconds_bucket{le=\"+Inf\"} 7\n"
            "took_seconds_sum 20.25\n"
            "took_seconds_count 7\n");
  Text unasked;
  unasked.histogram("took_seconds", "How long", {});
  EXPECT_TRUE(unasked.text().ends_with(
      "took_seconds_bucket{le=\"+Inf\"} 0\ntook_seconds_sum 0\ntook_seconds_count 0\n"));
}

std::string written(const std::string& value) {
  Text text;
  text.gauges("m", "Help", "of", {{value, 1}});
  const std::string all = text.text();
  return all.substr(all.rfind("m{"));
}

TEST(MetricTextTest, NoValueOfALabelBreaksOutOfItsQuotes) {
  EXPECT_EQ(written("a\"b"), "m{of=\"a\\\"b\"} 1\n");
  EXPECT_EQ(written("a\\"), "m{of=\"a\\\\\"} 1\n");
  EXPECT_EQ(written("a\"} 1\nevil 2"), "m{of=\"a\\\"} 1\\nevil 2\"} 1\n");
  EXPECT_EQ(written(""), "m{of=\"\"} 1\n");
}

// Prometheus refuses the whole scrape otherwise, the good samples included.
TEST(MetricTextTest, WhatIsNotUtf8IsWrittenWithoutIt) {
  EXPECT_EQ(written("gr\xc3\xbc\xc3\x9f"), "m{of=\"gr\xc3\xbc\xc3\x9f\"} 1\n");
  EXPECT_EQ(written("a\xff\"b"), "m{of=\"a?\\\"b\"} 1\n");
}

TEST(MetricTextTest, HelpKeepsItsLine) {
  Text text;
  text.gauge("m", "One \"line\" \\ of\ntwo", 0);
  EXPECT_TRUE(text.text().starts_with("# HELP m One \"line\" \\\\ of\\ntwo\n# TYPE m gauge\n"));
}

std::string number(double value) {
  Text text;
  text.gauge("m", "Help", value);
  return text.text().substr(text.text().rfind(' ') + 1);
}

TEST(MetricTextTest, NumbersAreThoseThatPrometheusReads) {
  EXPECT_EQ(number(0), "0\n");
  EXPECT_EQ(number(1e6), "1000000\n");
  EXPECT_EQ(number(0.1), "0.1\n");
  EXPECT_EQ(number(-2.5), "-2.5\n");
  EXPECT_EQ(number(1e300), "1e+300\n");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "+Inf\n");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "-Inf\n");
  EXPECT_EQ(number(-std::numeric_limits<double>::quiet_NaN()), "NaN\n");
  Text text;
  text.counter("m", "Help", std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(text.text().ends_with("m 18446744073709551615\n"));
}

}  // namespace metric_text_test
}  // namespace muster::metric
