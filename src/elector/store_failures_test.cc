#include "elector/store_failures.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace store_failures_test
}  // namespace muster
