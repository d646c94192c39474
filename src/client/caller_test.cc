#include "client/caller.h"

#include <optional>

#include <gtest/gtest.h>

#include "client/client_test_transport.h"

namespace muster::client {
namespace caller_test {

using testing::TestTransport;

const WireRequest kRead{"/read", {}, Effect::kRead, Aim::kAny, {}};
constexpr const char* kHealth = "/muster.v1.CoordinatorService/HealthCheck";

class CallerTest : public ::testing::Test {
 protected:
  void start(const RetryConfig& retry = {}) {
    caller.emplace(transport, std::vector<std::string>{"a:1", "b:1"}, retry, Random(1));
  }
  Caller::CallId call(WireRequest request, Duration timeout = 10s) {
    answer.reset();
    return caller->start(std::move(request), process.now() + timeout,
                         [this](Result<std::string> result) {
                           ++answers;
                           answer = std::move(result);
                           answered_at = world.now();
                         });
  }
  static WireRequest write(Effect effect) { return {"/write", {}, effect, Aim::kLeader, {}}; }

  sim::World world{1};
  sim::Process process{world, 1.0, 0s};
  TestTransport transport{process};
  std::optional<Caller> caller;
  std::optional<Result<std::string>> answer;
  int answers = 0;
  sim::TrueTime answered_at{0};
};

// C14: every call has a deadline, even if a server is silent.
TEST_F(CallerTest, SilentServersAreGivenUpAtTheDeadline) {
  start();
  int asked = 0;
  transport.serve = [&](const auto&, const auto&, const auto&) { ++asked; };
  call(kRead, 7s);
  world.run(60s);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is(Errc::kUnavailable));
  EXPECT_LE(answered_at, 7001ms);
  EXPECT_GE(asked, 3) << "a silent server is left for the next one";
  EXPECT_EQ(answers, 1);
}

TEST_F(CallerTest, ServersTakeTurnsUntilOneAnswers) {
  start();
  std::vector<std::string> asked;
  transport.serve = [&](const std::string& server, const auto&, const TestTransport::Reply& reply) {
    asked.push_back(server);
    if (asked.size() < 4) return reply({RpcCode::kUnavailable, "no leader"}, "");
    reply({}, "yes");
  };
  call(kRead);
  world.run(60s);
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ(**answer, "yes");
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_NE(asked[0], asked[1]);
  EXPECT_NE(asked[1], asked[2]);
}

TEST_F(CallerTest, CancellingAndTheEndOfTheCallerAnswerOnce) {
  start();
  const auto id = call(kRead);
  world.run(1s);
  caller->cancel(id);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is(Errc::kCancelled));
  caller->cancel(id);
  call(kRead);
  caller.reset();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is(Errc::kCancelled));
  world.run(60s);
  EXPECT_EQ(answers, 2);
}

TEST_F(CallerTest, AChangeThatMayHaveHappenedOnceIsNeverReportedAsNotDone) {
  start();
  int asked = 0;
  transport.serve = [&](const auto&, const std::string& method, const TestTransport::Reply& reply) {
    if (method == kHealth) return;
    if (++asked == 1) return reply({RpcCode::kUnavailable, "reset", Reach::kSent, {}}, "");
    reply({RpcCode::kUnavailable, "nobody leads"}, "");
  };
  call(write(Effect::kIdempotent));
  world.run(60s);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is(Errc::kAmbiguous)) << answer->error().message;
  EXPECT_EQ(asked, 5);
}

TEST_F(CallerTest, TheLeaderIsSoughtOnceASecondAtMost) {
  start();
  int sought = 0;
  transport.serve = [&](const auto&, const std::string& method, const TestTransport::Reply& reply) {
    if (method == kHealth) ++sought;
    reply({}, "");
  };
  for (int i = 0; i < 100; ++i) {
    call(write(Effect::kIdempotent));
    world.run(world.now() + 50ms);
  }
  EXPECT_GE(sought, 4);
  EXPECT_LE(sought, 6);
}

}  // namespace caller_test
}  // namespace muster::client
