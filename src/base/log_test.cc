#include "base/log.h"

#include <gtest/gtest.h>

#include "base/log_throttle.h"

namespace muster {
namespace log_test {

TEST(LogTest, WritesJsonThatHoldsWhateverAValueHolds) {
  const LogLine line{LogLevel::kWarn, "odd", {{"value", "a \"b\"\n\x01\\"}, {"bytes", "\xff"}}};
  EXPECT_EQ(format_json(line, wall_from_ms(5)),
            "{\"time\":5,\"level\":\"warn\",\"message\":\"odd\",\"value\":\"a "
            "\\\"b\\\"\\n\\u0001\\\\\",\"bytes\":\"?\"}");
}

TEST(LogTest, ALineStaysOneLineAndNoTerminalActsOnIt) {
  EXPECT_EQ(format_text({LogLevel::kWarn, "odd", {{"a", "x\x1b[2J"}, {"b", "y\nz\r"}}}),
            "odd a=x\\x1b[2J b=\"y\\nz\\x0d\"");
}

TEST(LogTest, TheLevelChangesWhileTheProgramRuns) {
  int lines = 0;
  set_log_sink([&](const LogLine&) { ++lines; });
  log_debug("quiet");
  EXPECT_EQ(lines, 0);
  set_log_level(*parse_log_level("debug"));
  log_debug("heard");
  EXPECT_EQ(lines, 1);
  EXPECT_TRUE(parse_log_level("loud").is(Errc::kInvalid));
  set_log_sink({});
}

TEST(LogThrottleTest, LeavesRepeatsOutAndSaysHowMany) {
  LogThrottle throttle({3, 10s});
  const LogLine line{LogLevel::kInfo, "again", {}};
  const MonoTime start{};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(throttle.judge(line, start).pass);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(throttle.judge(line, start + 1s).pass);
  EXPECT_TRUE(throttle.judge({LogLevel::kInfo, "another", {}}, start + 1s).pass);
  EXPECT_TRUE(throttle.judge({LogLevel::kError, "again", {}}, start + 1s).pass);
  const auto later = throttle.judge(line, start + 11s);
  EXPECT_TRUE(later.pass);
  EXPECT_EQ(later.left_out, 5U);
  EXPECT_EQ(throttle.suppressed(), 5U);
}

}  // namespace log_test
}  // namespace muster
