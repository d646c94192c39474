#include "candidate/candidate_options.h"

#include <gtest/gtest.h>

#include <map>

namespace muster {
namespace candidate_options_test {

using Variables = std::map<std::string, std::string, std::less<>>;

Result<CandidateOptions> read(const Variables& variables) {
  return CandidateOptions::from_environment(
      [&](std::string_view name) -> std::optional<std::string> {
        const auto it = variables.find(name);
        return it == variables.end() ? std::nullopt : std::optional(it->second);
      });
}

TEST(CandidateOptionsTest, WithoutAnyVariableTheDefaultsOfTheDesignHold) {
  const auto options = read({});
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->eligible);
  EXPECT_EQ(options->election_interval, 5000ms);
  EXPECT_EQ(options->takeover_delay, 1000ms);
  EXPECT_EQ(options->lease, 6s);
}

// C12: eligibility is read, in all forms of true and false, and defaults by the type of the node.
TEST(CandidateOptionsTest, EligibilityIsReadInAllItsForms) {
  for (const char* yes : {"true", "TRUE", "True", "1", "yes", "on", "ON"}) {
    EXPECT_TRUE(read({{"COORDINATOR_ELIGIBLE", yes}})->eligible) << yes;
  }
  for (const char* no : {"false", "False", "0", "no", "off"}) {
    EXPECT_FALSE(read({{"COORDINATOR_ELIGIBLE", no}})->eligible) << no;
  }
}

TEST(CandidateOptionsTest, TheTypeOfTheNodeDecidesWhereNothingElseDoes) {
  for (const char* type : {"core", "web", "core-elx", "web-ng", "Core"}) {
    EXPECT_TRUE(read({{"COORDINATOR_NODE_TYPE", type}})->eligible) << type;
  }
  for (const char* type : {"poller", "poller-elx"}) {
    EXPECT_FALSE(read({{"COORDINATOR_NODE_TYPE", type}})->eligible) << type;
    EXPECT_TRUE(
        read({{"COORDINATOR_NODE_TYPE", type}, {"COORDINATOR_ELIGIBLE", "true"}})->eligible);
  }
}

// C12: the flag is read; switched off, the node is not eligible, whatever else it was told.
TEST(CandidateOptionsTest, TheFeatureFlagSwitchesTheElectionOff) {
  EXPECT_TRUE(read({{"coordinator_election_enabled", "yes"}})->eligible);
  EXPECT_FALSE(read({{"coordinator_election_enabled", "false"}, {"COORDINATOR_ELIGIBLE", "true"}})
                   ->eligible);
}

TEST(CandidateOptionsTest, NumbersAreMilliseconds) {
  const auto options =
      read({{"COORDINATOR_ELECTION_INTERVAL", "250"}, {"COORDINATOR_TAKEOVER_DELAY", "0"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->election_interval, 250ms);
  EXPECT_EQ(options->takeover_delay, 0ms);
}

// C12: what cannot be understood is refused by name instead of crashing or being ignored.
TEST(CandidateOptionsTest, ABadValueIsAnErrorThatNamesTheVariable) {
  const std::pair<const char*, const char*> bad[] = {
      {"COORDINATOR_ELIGIBLE", "maybe"},
      {"COORDINATOR_ELIGIBLE", ""},
      {"COORDINATOR_NODE_TYPE", "gateway"},
      {"COORDINATOR_NODE_TYPE", ""},
      {"COORDINATOR_ELECTION_INTERVAL", "5s"},
      {"COORDINATOR_ELECTION_INTERVAL", "0"},
      {"COORDINATOR_ELECTION_INTERVAL", "-1"},
      {"COORDINATOR_ELECTION_INTERVAL", "99999999999999999999"},
      {"COORDINATOR_ELECTION_INTERVAL", " 5000"},
      {"COORDINATOR_TAKEOVER_DELAY", "1e3"},
      {"COORDINATOR_TAKEOVER_DELAY", ""},
      {"coordinator_election_enabled", "enabled"},
  };
  for (const auto& [name, value] : bad) {
    const auto options = read({{name, value}});
    ASSERT_TRUE(options.is(Errc::kInvalid)) << name << "=" << value;
    EXPECT_EQ(options.error().message.rfind(std::string(name) + "=\"" + value + "\"", 0), 0u)
        << options.error().message;
  }
}

TEST(CandidateOptionsTest, TimesFollowFromTheLeaseUnlessTheyAreSet) {
  CandidateOptions options;
  options.node = WorkerId("n1");
  const LeaseTimings timings = options.timings();
  EXPECT_EQ(timings.renew_interval, 1200ms);
  EXPECT_EQ(timings.request_timeout, 1200ms);
  EXPECT_EQ(timings.stop_budget, 1200ms);
  EXPECT_EQ(timings.kill_margin, 600ms);
  EXPECT_TRUE(options.validate().ok());
  options.stop_grace = 700ms;
  EXPECT_EQ(options.timings().stop_budget, 700ms);
  EXPECT_EQ(options.machine().stop_budget, 700ms);
}

TEST(CandidateOptionsTest, NoGraceAndNoJitterAreHonoured) {
  CandidateOptions options;
  options.stop_grace = 0s;
  options.renew_jitter = 0s;
  EXPECT_EQ(options.filled().filled().stop_grace, 0s);
  EXPECT_EQ(options.filled().filled().renew_jitter, 0s);
  EXPECT_EQ(options.machine().stop_budget, 0s);
  EXPECT_EQ(options.timings().stop_budget, 0s);
}

TEST(CandidateOptionsTest, UnsafeTimingsAreRefusedWithTheirSum) {
  CandidateOptions options;
  options.node = WorkerId("n1");
  options.stop_grace = 3s;
  const Status status = options.validate();
  ASSERT_TRUE(status.is(Errc::kInvalid));
  EXPECT_NE(status.error().message.find("= 6s must be below the held time 5040ms"),
            std::string::npos)
      << status.error().message;
  options.stop_grace = 0s;
  options.worker_timeout = 1ms;
  EXPECT_NE(options.validate().error().message.find(
                "the worker timeout 1ms must be at least 5280ms, two heartbeats"),
            std::string::npos)
      << options.validate().error().message;
  options.worker_timeout = 5280ms;
  EXPECT_TRUE(options.validate().ok());
  options.node = WorkerId("not/a/name");
  EXPECT_TRUE(options.validate().is(Errc::kInvalid));
}

}  // namespace candidate_options_test
}  // namespace muster
