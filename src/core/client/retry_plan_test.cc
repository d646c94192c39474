#include "core/client/retry_plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::client {
namespace retry_plan_test {

constexpr MonoTime kStart{100s};

RpcStatus answered(RpcCode code, const std::string& leader = {}) {
  return {code, "said so", Reach::kAnswered, leader};
}
const RpcStatus kUnreachable{RpcCode::kUnavailable, "refused", Reach::kUnsent, {}};
const RpcStatus kBroken{RpcCode::kUnavailable, "connection reset", Reach::kSent, {}};

class RetryPlanTest : public ::testing::Test {
 protected:
  RetryPlan plan(Effect effect, Aim aim = Aim::kAny, Duration timeout = 60s) {
    return {config, effect, aim, kStart + timeout};
  }
  RetryConfig config;
  ServerBoard board{{"a", "b", "c"}, 0};
  Random random{1};
};

TEST_F(RetryPlanTest, FiveAttemptsWithWaitsThatDoubleAndDifferByAQuarter) {
  for (int round = 0; round < 100; ++round) {
    RetryPlan call = plan(Effect::kRead);
    MonoTime now = kStart;
    Duration planned = 100ms;
    for (int attempt = 1; attempt <= 5; ++attempt) {
      (void)call.next(board, now);
      const auto again = call.failed(answered(RpcCode::kUnavailable), board, now, random);
      if (attempt == 5) {
        EXPECT_FALSE(again);
        break;
      }
      ASSERT_TRUE(again);
      EXPECT_GE(*again - now, scale(planned, 0.75) - 1ns);
      EXPECT_LE(*again - now, scale(planned, 1.25) + 1ns);
      now = *again;
      planned *= 2;
    }
  }
}

TEST_F(RetryPlanTest, WaitsStopGrowingAtTheirMost) {
  config.attempts_max = 100;
  config.jitter = 0;
  RetryPlan call = plan(Effect::kRead, Aim::kAny, 3600s);
  MonoTime now = kStart;
  Duration last{0};
  for (int attempt = 1; attempt < 100; ++attempt) {
    (void)call.next(board, now);
    const auto again = call.failed(answered(RpcCode::kUnavailable), board, now, random);
    ASSERT_TRUE(again);
    last = *again - now;
    now = *again;
  }
  EXPECT_EQ(last, 5s);
}

// T25: a refusal of the request itself is never tried again, a zombie's least of all.
TEST_F(RetryPlanTest, RefusalsAreFinal) {
  for (const RpcCode code :
       {RpcCode::kFailedPrecondition, RpcCode::kInvalidArgument, RpcCode::kNotFound,
        RpcCode::kAlreadyExists, RpcCode::kResourceExhausted, RpcCode::kPermissionDenied,
        RpcCode::kUnauthenticated, RpcCode::kUnimplemented, RpcCode::kAborted, RpcCode::kOutOfRange,
        RpcCode::kDataLoss}) {
    for (const Effect effect : {Effect::kRead, Effect::kIdempotent, Effect::kOnce}) {
      RetryPlan call = plan(effect);
      (void)call.next(board, kStart);
      EXPECT_FALSE(call.failed(answered(code), board, kStart, random)) << static_cast<int>(code);
      EXPECT_FALSE(call.may_have_happened());
    }
  }
}

TEST_F(RetryPlanTest, WhatMayHaveHappenedIsRetriedOnlyWhenItMayHappenTwice) {
  for (const RpcStatus& status :
       {kBroken, answered(RpcCode::kUnknown), answered(RpcCode::kInternal),
        RpcStatus{RpcCode::kDeadlineExceeded, "", Reach::kSent, {}}}) {
    RetryPlan read = plan(Effect::kRead);
    (void)read.next(board, kStart);
    EXPECT_TRUE(read.failed(status, board, kStart, random));
    EXPECT_FALSE(read.may_have_happened());
    RetryPlan idempotent = plan(Effect::kIdempotent);
    (void)idempotent.next(board, kStart);
    EXPECT_TRUE(idempotent.failed(status, board, kStart, random));
    EXPECT_TRUE(idempotent.may_have_happened());
    RetryPlan once = plan(Effect::kOnce);
    (void)once.next(board, kStart);
    EXPECT_FALSE(once.failed(status, board, kStart, random));
  }
}

TEST_F(RetryPlanTest, WhatNeverLeftGoesToTheNextServerAtOnce) {
  RetryPlan call = plan(Effect::kOnce);
  EXPECT_EQ(call.next(board, kStart).server, "a");
  board.failed("a");
  EXPECT_EQ(call.failed(kUnreachable, board, kStart, random), kStart);
  EXPECT_EQ(call.next(board, kStart).server, "b");
  board.failed("b");
  EXPECT_EQ(call.failed(kUnreachable, board, kStart, random), kStart);
  EXPECT_EQ(call.next(board, kStart).server, "c");
  board.failed("c");
  const auto again = call.failed(kUnreachable, board, kStart, random);
  ASSERT_TRUE(again);
  EXPECT_GT(*again, kStart);
}

TEST_F(RetryPlanTest, EveryServerThatWasAskedIsNamed) {
  RetryPlan call = plan(Effect::kOnce);
  (void)call.next(board, kStart);
  EXPECT_EQ(call.tried(), "") << "the error names it";
  board.failed("a");
  (void)call.next(board, kStart);
  EXPECT_EQ(call.tried(), "tried a and b");
  board.failed("b");
  (void)call.next(board, kStart);
  EXPECT_EQ(call.tried(), "tried a, b and c");
  (void)call.next(board, kStart);
  EXPECT_EQ(call.tried(), "tried a, b and c, 4 times in all");
  const ServerBoard alone({"d"}, 0);
  RetryPlan other = plan(Effect::kOnce);
  (void)other.next(alone, kStart);
  (void)other.next(alone, kStart);
  EXPECT_EQ(other.tried(), "tried d 2 times");
}

TEST_F(RetryPlanTest, ARedirectIsFollowedAtOnceUnlessItLeadsInACircle) {
  RetryPlan call = plan(Effect::kOnce, Aim::kLeader);
  EXPECT_EQ(call.next(board, kStart).server, "a");
  RpcStatus redirect = answered(RpcCode::kFailedPrecondition, "c");
  board.learned_leader("c");
  EXPECT_EQ(call.failed(redirect, board, kStart, random), kStart);
  EXPECT_EQ(call.next(board, kStart).server, "c");
  redirect.leader_address = "a";
  board.learned_leader("a");
  const auto again = call.failed(redirect, board, kStart, random);
  ASSERT_TRUE(again);
  EXPECT_GT(*again, kStart);
}

TEST_F(RetryPlanTest, AnAttemptHasItsOwnDeadlineAndTheLastOneAllThatIsLeft) {
  config.attempts_max = 2;
  RetryPlan call = plan(Effect::kRead, Aim::kAny, 10s);
  EXPECT_EQ(call.next(board, kStart).by, kStart + 2s);
  EXPECT_EQ(call.next(board, kStart + 2s).by, kStart + 10s);
  RetryPlan hurried = plan(Effect::kRead, Aim::kAny, 1s);
  EXPECT_EQ(hurried.next(board, kStart).by, kStart + 1s);
}

TEST_F(RetryPlanTest, NothingIsTriedAfterTheDeadline) {
  RetryPlan call = plan(Effect::kRead, Aim::kAny, 50ms);
  (void)call.next(board, kStart);
  EXPECT_FALSE(call.failed(answered(RpcCode::kUnavailable), board, kStart, random));
}

TEST_F(RetryPlanTest, NumbersThatCannotWorkAreRefused) {
  EXPECT_TRUE(RetryConfig{}.validate());
  config.attempts_max = 0;
  EXPECT_TRUE(config.validate().is(Errc::kInvalid));
  config = {};
  config.delay_max = 1ms;
  EXPECT_TRUE(config.validate().is(Errc::kInvalid));
  config = {};
  config.jitter = 1;
  EXPECT_TRUE(config.validate().is(Errc::kInvalid));
}

TEST(RpcStatusTest, ErrorsNameTheServerAndWhatToCheck) {
  const std::string server = "host:9000";
  std::set<std::string> texts;
  for (const Obstacle why :
       {Obstacle::kOther, Obstacle::kName, Obstacle::kNobodyListens, Obstacle::kClosed,
        Obstacle::kSilent, Obstacle::kNotGrpc, Obstacle::kTls, Obstacle::kTurnedAway}) {
    const Error error = to_error({RpcCode::kUnavailable, "the cause", Reach::kUnsent, {}, {}, why},
                                 server, Effect::kOnce);
    EXPECT_EQ(error.code, Errc::kUnavailable);
    for (const char* part : {server.c_str(), "; check ", " (the cause)"}) {
      EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
    }
    texts.insert(error.message);
  }
  EXPECT_EQ(texts.size(), 8U);
  EXPECT_EQ(to_error(kBroken, server, Effect::kRead).code, Errc::kUnavailable);
  EXPECT_EQ(to_error(kBroken, server, Effect::kIdempotent).code, Errc::kAmbiguous);
  EXPECT_EQ(to_error(answered(RpcCode::kNotFound), server, Effect::kOnce).code, Errc::kNotFound);
  EXPECT_EQ(to_error(answered(RpcCode::kAlreadyExists), server, Effect::kOnce).code,
            Errc::kConflict);
}

}  // namespace retry_plan_test
}  // namespace muster::client
