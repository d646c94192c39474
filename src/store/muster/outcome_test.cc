#include "store/muster/outcome.h"

#include <grpc/status.h>
#include <gtest/gtest.h>

namespace muster::musterd {
namespace outcome_test {

using remote::Outcome;
using remote::Reaction;
using remote::Stage;

TEST(MusterOutcomeTest, AnythingThatFailsBeforeTheRequestLeftIsTriedAgain) {
  for (const int code : {GRPC_STATUS_UNAVAILABLE, GRPC_STATUS_CANCELLED, GRPC_STATUS_ABORTED}) {
    const Outcome outcome = judge({code, "connection refused", ""}, Stage::kUnsent);
    EXPECT_EQ(outcome.reaction, Reaction::kTryAgain);
    EXPECT_EQ(outcome.error.code, Errc::kUnavailable);
  }
}

// P01: a write whose answer is lost is neither a failure nor sent again.
TEST(MusterOutcomeTest, AWriteThatMayHaveLandedIsAmbiguousAndNotSentAgain) {
  for (const int code :
       {GRPC_STATUS_UNKNOWN, GRPC_STATUS_DEADLINE_EXCEEDED, GRPC_STATUS_UNAVAILABLE,
        GRPC_STATUS_CANCELLED, GRPC_STATUS_INTERNAL, GRPC_STATUS_DATA_LOSS,
        GRPC_STATUS_FAILED_PRECONDITION, GRPC_STATUS_ALREADY_EXISTS}) {
    const Outcome outcome = judge({code, "some words", ""}, Stage::kWriteSent);
    EXPECT_EQ(outcome.reaction, Reaction::kFail) << code;
    EXPECT_EQ(outcome.error.code, Errc::kAmbiguous) << code;
  }
}

TEST(MusterOutcomeTest, UnavailableInTheWordsOfAServerMeansThatNothingWasDone) {
  for (const auto stage : {Stage::kReadSent, Stage::kWriteSent}) {
    const Outcome outcome = judge({GRPC_STATUS_UNAVAILABLE, "nobody leads", "", true}, stage);
    EXPECT_EQ(outcome.reaction, Reaction::kTryAgain);
    EXPECT_EQ(outcome.error.code, Errc::kUnavailable);
  }
  EXPECT_EQ(judge({GRPC_STATUS_UNKNOWN, "", "", true}, Stage::kWriteSent).error.code,
            Errc::kAmbiguous);
  EXPECT_EQ(judge({GRPC_STATUS_RESOURCE_EXHAUSTED, "", ""}, Stage::kWriteSent).error.code,
            Errc::kAmbiguous);
}

TEST(MusterOutcomeTest, AReadWithoutAnAnswerIsTriedAgain) {
  for (const int code :
       {GRPC_STATUS_UNKNOWN, GRPC_STATUS_UNAVAILABLE, GRPC_STATUS_DEADLINE_EXCEEDED}) {
    const Outcome outcome = judge({code, "some words", ""}, Stage::kReadSent);
    EXPECT_EQ(outcome.reaction, Reaction::kTryAgain) << code;
    EXPECT_EQ(outcome.error.code, Errc::kUnavailable) << code;
  }
}

TEST(MusterOutcomeTest, AServerThatNamesTheLeaderHasDoneNothing) {
  for (const auto stage : {Stage::kReadSent, Stage::kWriteSent}) {
    const Outcome outcome =
        judge({GRPC_STATUS_FAILED_PRECONDITION, "not the leader", "h2:9000"}, stage);
    EXPECT_EQ(outcome.reaction, Reaction::kTryAgain);
    EXPECT_EQ(outcome.elsewhere, "h2:9000");
    EXPECT_EQ(outcome.error.code, Errc::kUnavailable);
  }
  // An address beside any other answer changes nothing.
  EXPECT_EQ(judge({GRPC_STATUS_UNKNOWN, "", "h2:9000"}, Stage::kWriteSent).error.code,
            Errc::kAmbiguous);
}

// P03: each kind of refusal asks for another reaction, so each is its own outcome.
TEST(MusterOutcomeTest, RefusalsAreToldApart) {
  const struct {
    int code;
    Errc means;
  } answers[] = {
      {GRPC_STATUS_ABORTED, Errc::kConflict},
      {GRPC_STATUS_NOT_FOUND, Errc::kNotFound},
      {GRPC_STATUS_RESOURCE_EXHAUSTED, Errc::kThrottled},
      {GRPC_STATUS_PERMISSION_DENIED, Errc::kDenied},
      {GRPC_STATUS_UNAUTHENTICATED, Errc::kDenied},
      {GRPC_STATUS_INVALID_ARGUMENT, Errc::kInvalid},
      {GRPC_STATUS_UNIMPLEMENTED, Errc::kUnsupported},
  };
  for (const auto& [code, means] : answers) {
    for (const auto stage : {Stage::kReadSent, Stage::kWriteSent}) {
      const Outcome outcome = judge({code, "some words", "", true}, stage);
      EXPECT_EQ(outcome.reaction, Reaction::kFail) << code;
      EXPECT_EQ(outcome.error.code, means) << code;
      EXPECT_NE(outcome.error.message.find("some words"), std::string::npos);
    }
  }
  EXPECT_EQ(judge({GRPC_STATUS_DATA_LOSS, "", ""}, Stage::kReadSent).error.code, Errc::kCorrupt);
}

}  // namespace outcome_test
}  // namespace muster::musterd
