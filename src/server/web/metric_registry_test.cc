#include "server/web/metric_registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace muster::server {
namespace metric_registry_test {

TEST(MetricRegistryTest, WritesFamiliesInTheirOrderWithWhatTheyHold) {
  MetricRegistry registry;
  Family<Counter>& calls = registry.counters("calls_total", "Calls", {"code", "method"});
  registry.gauges("never_set", "No sample is made", {"by"});
  Gauge& term = registry.gauges("term", "Epoch", {}).with({});
  Buckets& took = registry.histograms("took_seconds", "Time", {}, {0.1, 1}).with({});
  calls.with({"OK", "Put"}).add();
  calls.with({"OK", "Get"}).add(2);
  calls.with({"OK", "Put"}).add();
  term.set(1.5);
  term.set(7);
  for (const double seconds : {0.05, 0.1, 0.5, 3.0}) took.observe(seconds);
  EXPECT_EQ(registry.text(),
            "# HELP calls_total Calls\n"
            "# TYPE calls_total counter\n"
            "calls_total{code=\"OK\",method=\"Get\"} 2\n"
            "calls_total{code=\"OK\",method=\"Put\"} 2\n"
            "# HELP term Epoch\n"
            "# TYPE term gauge\n"
            "term 7\n"
            "# HELP took_seconds Time\n"
            "# TYPE took_seconds histogram\n"
            "took_seconds_bucket{le=\"0.1\"} 2\n"
            "took_seconds_bucket{le=\"1\"} 3\n"
            "took_seconds_bucket{le=\"+Inf\"} 4\n"
            "took_seconds_sum 3.65\n"
            "took_seconds_count 4\n");
}

TEST(MetricRegistryTest, LabelsThatNeverEndAreCountedAsOther) {
  MetricRegistry registry;
  Family<Counter>& family = registry.counters("x_total", "X", {"from", "to"});
  constexpr std::size_t kMost = Family<Counter>::kSamplesMax;
  for (std::size_t i = 0; i < kMost + 10; ++i) family.with({std::to_string(i), "to"}).add();
  EXPECT_EQ(family.with({"other", "other"}).value(), 10U);
  family.with({"0", "to"}).add();
  EXPECT_EQ(family.with({"0", "to"}).value(), 2U) << "what was there before goes on";
  const std::string text = registry.text();
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), 2 + kMost + 1);
}

TEST(MetricRegistryTest, ACounterThatIsCountedElsewhereNeverFalls) {
  Counter counter;
  counter.raise_to(5);
  counter.raise_to(3);
  EXPECT_EQ(counter.value(), 5U);
  counter.raise_to(8);
  EXPECT_EQ(counter.value(), 8U);
}

TEST(MetricRegistryTest, IsToldAndWrittenOnManyThreads) {
  MetricRegistry registry;
  Family<Counter>& family = registry.counters("x_total", "X", {"by"});
  Buckets& took = registry.histograms("took", "Time", {}, {1}).with({});
  constexpr int kRounds = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        family.with({std::to_string((i + t) % 7)}).add();
        took.observe(0.5);
        if (i % 100 == 0) {
          EXPECT_FALSE(registry.text().empty());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = 0;
  for (int i = 0; i < 7; ++i) sum += family.with({std::to_string(i)}).value();
  EXPECT_EQ(sum, 4U * kRounds);
  EXPECT_NE(registry.text().find("took_sum 2000\ntook_count 4000\n"), std::string::npos);
}

}  // namespace metric_registry_test
}  // namespace muster::server
