#include "coordinator/store_failures.h"

#include <gtest/gtest.h>

#include "coordinator/coordinator_test_world.h"

namespace muster {
namespace store_failures_test {

/// The lines about the store that are logged while it lives.
struct Lines {
  Lines() {
    set_log_sink([this](const LogLine& line) {
      if (line.message == "store request failed") lines.push_back(line.fields);
    });
  }
  ~Lines() { set_log_sink({}); }
  [[nodiscard]] static std::string field(const LogLine::Fields& line, std::string_view name) {
    for (const auto& [key, value] : line) {
      if (key == name) return value;
    }
    return "";
  }
  std::vector<LogLine::Fields> lines;
};

// R22: 192 lines in 30 s.
TEST(StoreFailuresTest, AnOutageIsAFewLinesAndTheyCountWhatWasLeftOut) {
  Lines log;
  CoordinatorWorld world;
  world.add("a");
  world.run(10s);
  world.shared->faults.error_before = 1;
  world.run(29s);
  // A write that may have landed is one kind, a read that failed another.
  ASSERT_EQ(log.lines.size(), 2u);
  EXPECT_EQ(Lines::field(log.lines[0], "message"), "the store answered 500");
  EXPECT_EQ(Lines::field(log.lines[0], "left_out"), "");
  world.run(60s);
  EXPECT_LE(log.lines.size(), 8u);
  EXPECT_NE(Lines::field(log.lines.back(), "left_out"), "");
}

TEST(StoreFailuresTest, WhatTheOperatorWasToldIsNotLoggedAsWell) {
  Lines log;
  StoreFailures failures;
  const MonoTime start{100s};
  const Error denied{Errc::kDenied, "no"};
  failures.note(denied, {}, start, /*told=*/true);
  failures.note(denied, {}, start + 1s);
  EXPECT_TRUE(log.lines.empty());
  failures.note(denied, {}, start + 30s);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(Lines::field(log.lines[0], "left_out"), "1");
}

// R22: a bucket that does not exist was probed every 1.2 s.
TEST(StoreFailuresTest, WhatSomebodyMustMendIsProbedEverMoreSeldom) {
  StoreFailures failures;
  const Error missing{Errc::kInvalid, "no such bucket"};
  const Error silent{Errc::kUnavailable, "no reply"};
  EXPECT_EQ(failures.until_next_probe(missing, 1200ms), 1200ms);
  EXPECT_EQ(failures.until_next_probe(missing, 1200ms), 2400ms);
  for (int i = 0; i < 20; ++i) (void)failures.until_next_probe(missing, 1200ms);
  EXPECT_EQ(failures.until_next_probe(missing, 1200ms), 30s);
  EXPECT_EQ(failures.until_next_probe(silent, 1200ms), 1200ms);
  EXPECT_EQ(failures.until_next_probe(missing, 1min), 1min) << "never sooner than a heartbeat";
}

TEST(StoreFailuresTest, AProbeThatMeetsAMistakeSaysItOnceAndBacksOff) {
  Lines log;
  CoordinatorWorld world;
  int probes = 0;
  bool mended = false;
  auto& a = world.add("a", [&](const Callback<Done>& done) {
    ++probes;
    done(mended ? Status(Done{}) : Status(Errc::kDenied, "the credentials do not allow this"));
  });
  world.run(1min);
  EXPECT_EQ(probes, 4) << "at 0, 5, 15 and 35 s";
  ASSERT_GE(log.lines.size(), 1u);
  EXPECT_LE(log.lines.size(), 2u);
  EXPECT_EQ(Lines::field(log.lines[0], "message"), "the credentials do not allow this");
  mended = true;
  world.run(35s);
  EXPECT_TRUE(a.leads());
}

}  // namespace store_failures_test
}  // namespace muster
