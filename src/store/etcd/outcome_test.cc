#include "store/etcd/outcome.h"

#include <grpc/status.h>
#include <gtest/gtest.h>

namespace muster::etcd {
namespace outcome_test {

TEST(EtcdOutcomeTest, AnythingThatFailsBeforeTheRequestLeftIsTriedAgain) {
  for (const int code : {GRPC_STATUS_UNAVAILABLE, GRPC_STATUS_CANCELLED, GRPC_STATUS_INTERNAL}) {
    const Outcome outcome = judge(code, "connection refused", Stage::kUnsent);
    EXPECT_EQ(outcome.reaction, Reaction::kTryAgain);
    EXPECT_EQ(outcome.error.code, Errc::kUnavailable);
  }
}

// P01: a write whose answer is lost is neither a failure nor sent again.
TEST(EtcdOutcomeTest, AWriteThatMayHaveLandedIsAmbiguousAndNotSentAgain) {
  const struct {
    int code;
    const char* message;
  } answers[] = {
      {GRPC_STATUS_UNAVAILABLE, "etcdserver: request timed out"},
      {GRPC_STATUS_UNAVAILABLE,
       "etcdserver: request timed out, possibly due to previous leader failure"},
      {GRPC_STATUS_UNAVAILABLE, "etcdserver: request timed out, possibly due to connection lost"},
      {GRPC_STATUS_UNAVAILABLE, "etcdserver: leader changed"},
      {GRPC_STATUS_UNAVAILABLE, "etcdserver: server stopped"},
      {GRPC_STATUS_UNAVAILABLE, "Socket closed"},
      {GRPC_STATUS_UNAVAILABLE, "failed to connect to all addresses"},
      {GRPC_STATUS_DEADLINE_EXCEEDED, "Deadline Exceeded"},
      {GRPC_STATUS_CANCELLED, "CANCELLED"},
      {GRPC_STATUS_UNKNOWN, "raft proposal dropped"},
      {GRPC_STATUS_INTERNAL, "stream terminated by RST_STREAM"},
      {GRPC_STATUS_RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded"},
      {GRPC_STATUS_RESOURCE_EXHAUSTED, "something new"},
      {GRPC_STATUS_FAILED_PRECONDITION, "something new"},
      {GRPC_STATUS_DATA_LOSS, "something new"},
  };
  for (const auto& [code, message] : answers) {
    const Outcome outcome = judge(code, message, Stage::kWriteSent);
    EXPECT_EQ(outcome.reaction, Reaction::kFail) << message;
    EXPECT_EQ(outcome.error.code, Errc::kAmbiguous) << message;
  }
}

TEST(EtcdOutcomeTest, AReadWithoutAnAnswerIsTriedAgain) {
  for (const char* message : {"etcdserver: request timed out", "etcdserver: leader changed",
                              "Socket closed", "Deadline Exceeded"}) {
    const Outcome outcome = judge(GRPC_STATUS_UNAVAILABLE, message, Stage::kReadSent);
    EXPECT_EQ(outcome.reaction, Reaction::kTryAgain) << message;
    EXPECT_EQ(outcome.error.code, Errc::kUnavailable) << message;
  }
}

TEST(EtcdOutcomeTest, AWriteRefusedOnArrivalMayGoToAnotherMember) {
  for (const char* message : {"etcdserver: no leader", "etcdserver: not capable",
                              "etcdserver: rpc not supported for learner"}) {
    const Outcome outcome = judge(GRPC_STATUS_UNAVAILABLE, message, Stage::kWriteSent);
    EXPECT_EQ(outcome.reaction, Reaction::kTryAgain) << message;
    EXPECT_EQ(outcome.error.code, Errc::kUnavailable) << message;
  }
}

TEST(EtcdOutcomeTest, ATokenThatIsNotTakenIsRenewed) {
  for (const auto stage : {Stage::kReadSent, Stage::kWriteSent}) {
    EXPECT_EQ(judge(GRPC_STATUS_INVALID_ARGUMENT, "etcdserver: user name is empty", stage).reaction,
              Reaction::kReauthenticate);
    EXPECT_EQ(judge(GRPC_STATUS_UNAUTHENTICATED, "etcdserver: invalid auth token", stage).reaction,
              Reaction::kReauthenticate);
    EXPECT_EQ(
        judge(GRPC_STATUS_INVALID_ARGUMENT, "etcdserver: revision of auth store is old", stage)
            .reaction,
        Reaction::kReauthenticate);
  }
}

// P03: each kind of refusal asks for another reaction, so each is its own outcome.
TEST(EtcdOutcomeTest, RefusalsAreToldApart) {
  const auto code_of = [](int code, const char* message) {
    const Outcome outcome = judge(code, message, Stage::kWriteSent);
    EXPECT_EQ(outcome.reaction, Reaction::kFail) << message;
    return outcome.error.code;
  };
  EXPECT_EQ(code_of(GRPC_STATUS_PERMISSION_DENIED, "etcdserver: permission denied"), Errc::kDenied);
  EXPECT_EQ(code_of(GRPC_STATUS_INVALID_ARGUMENT,
                    "etcdserver: authentication failed, invalid user ID or password"),
            Errc::kDenied);
  EXPECT_EQ(code_of(GRPC_STATUS_RESOURCE_EXHAUSTED, "etcdserver: too many requests"),
            Errc::kThrottled);
  EXPECT_EQ(code_of(GRPC_STATUS_INVALID_ARGUMENT, "etcdserver: request is too large"),
            Errc::kInvalid);
  EXPECT_EQ(code_of(GRPC_STATUS_INVALID_ARGUMENT, "something new"), Errc::kInvalid);
  EXPECT_EQ(code_of(GRPC_STATUS_UNIMPLEMENTED, "unknown service"), Errc::kUnsupported);
  EXPECT_EQ(code_of(GRPC_STATUS_DATA_LOSS, "etcdserver: corrupt cluster"), Errc::kCorrupt);
}

TEST(EtcdOutcomeTest, TheFullStoreNamesItsAlarm) {
  const Outcome outcome = judge(GRPC_STATUS_RESOURCE_EXHAUSTED,
                                "etcdserver: mvcc: database space exceeded", Stage::kWriteSent);
  EXPECT_NE(outcome.error.message.find("NOSPACE"), std::string::npos);
}

}  // namespace outcome_test
}  // namespace muster::etcd
