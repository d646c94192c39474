#include "store/etcd/verdict.h"

#include <gtest/gtest.h>

namespace muster::etcd {
namespace verdict_test {

using rpc::Code;
using Word = rpc::Outcome::Word;

Verdict server_said(Code code, const std::string& message, Access access) {
  return judge({code, message, Word::kServer, {}}, access);
}

TEST(EtcdVerdictTest, AnythingThatFailsBeforeTheRequestLeftIsTriedAgain) {
  for (const Code code : {Code::kUnavailable, Code::kCancelled, Code::kInternal}) {
    const Verdict verdict =
        judge({code, "connection refused", Word::kNeverLeft, {}}, Access::kWrite);
    EXPECT_EQ(verdict.reaction, Reaction::kTryAgain);
    EXPECT_EQ(verdict.error.code, Errc::kUnavailable);
  }
}

// P01: a write whose answer is lost is neither a failure nor sent again.
TEST(EtcdVerdictTest, AWriteThatMayHaveLandedIsAmbiguousAndNotSentAgain) {
  const struct {
    Code code;
    const char* message;
  } answers[] = {
      {Code::kUnavailable, "etcdserver: request timed out"},
      {Code::kUnavailable,
       "etcdserver: request timed out, possibly due to previous leader failure"},
      {Code::kUnavailable, "etcdserver: request timed out, possibly due to connection lost"},
      {Code::kUnavailable, "etcdserver: leader changed"},
      {Code::kUnavailable, "etcdserver: server stopped"},
      {Code::kUnavailable, "Socket closed"},
      {Code::kUnavailable, "failed to connect to all addresses"},
      {Code::kDeadlineExceeded, "Deadline Exceeded"},
      {Code::kCancelled, "CANCELLED"},
      {Code::kUnknown, "raft proposal dropped"},
      {Code::kInternal, "stream terminated by RST_STREAM"},
      {Code::kResourceExhausted, "etcdserver: mvcc: database space exceeded"},
      {Code::kResourceExhausted, "something new"},
      {Code::kFailedPrecondition, "something new"},
      {Code::kDataLoss, "something new"},
  };
  for (const auto& [code, message] : answers) {
    const Verdict verdict = server_said(code, message, Access::kWrite);
    EXPECT_EQ(verdict.reaction, Reaction::kFail) << message;
    EXPECT_EQ(verdict.error.code, Errc::kAmbiguous) << message;
  }
}

// Whatever code the end of a connection is given, it is not etcd's.
TEST(EtcdVerdictTest, AConnectionThatBrokeSaysNothingOfAWrite) {
  for (const Code code : {Code::kUnavailable, Code::kPermissionDenied, Code::kInvalidArgument}) {
    const rpc::Outcome broken{code, "etcdserver: no leader", Word::kNobody, {}};
    EXPECT_EQ(judge(broken, Access::kWrite).reaction, Reaction::kFail);
    EXPECT_EQ(judge(broken, Access::kWrite).error.code, Errc::kAmbiguous);
    EXPECT_EQ(judge(broken, Access::kRead).reaction, Reaction::kTryAgain);
  }
}

TEST(EtcdVerdictTest, AReadWithoutAnAnswerIsTriedAgain) {
  for (const char* message : {"etcdserver: request timed out", "etcdserver: leader changed",
                              "Socket closed", "Deadline Exceeded"}) {
    const Verdict verdict = server_said(Code::kUnavailable, message, Access::kRead);
    EXPECT_EQ(verdict.reaction, Reaction::kTryAgain) << message;
    EXPECT_EQ(verdict.error.code, Errc::kUnavailable) << message;
  }
}

TEST(EtcdVerdictTest, AWriteRefusedOnArrivalMayGoToAnotherMember) {
  for (const char* message : {"etcdserver: no leader", "etcdserver: not capable",
                              "etcdserver: rpc not supported for learner"}) {
    const Verdict verdict = server_said(Code::kUnavailable, message, Access::kWrite);
    EXPECT_EQ(verdict.reaction, Reaction::kTryAgain) << message;
    EXPECT_EQ(verdict.error.code, Errc::kUnavailable) << message;
  }
}

TEST(EtcdVerdictTest, ATokenThatIsNotTakenIsRenewed) {
  for (const auto access : {Access::kRead, Access::kWrite}) {
    EXPECT_EQ(
        server_said(Code::kInvalidArgument, "etcdserver: user name is empty", access).reaction,
        Reaction::kReauthenticate);
    EXPECT_EQ(
        server_said(Code::kUnauthenticated, "etcdserver: invalid auth token", access).reaction,
        Reaction::kReauthenticate);
    EXPECT_EQ(
        server_said(Code::kInvalidArgument, "etcdserver: revision of auth store is old", access)
            .reaction,
        Reaction::kReauthenticate);
  }
}

// P03: each kind of refusal asks for another reaction, so each is its own outcome.
TEST(EtcdVerdictTest, RefusalsAreToldApart) {
  const auto code_of = [](Code code, const char* message) {
    const Verdict verdict = server_said(code, message, Access::kWrite);
    EXPECT_EQ(verdict.reaction, Reaction::kFail) << message;
    return verdict.error.code;
  };
  EXPECT_EQ(code_of(Code::kPermissionDenied, "etcdserver: permission denied"), Errc::kDenied);
  EXPECT_EQ(code_of(Code::kInvalidArgument,
                    "etcdserver: authentication failed, invalid user ID or password"),
            Errc::kDenied);
  EXPECT_EQ(code_of(Code::kResourceExhausted, "etcdserver: too many requests"), Errc::kThrottled);
  EXPECT_EQ(code_of(Code::kInvalidArgument, "etcdserver: request is too large"), Errc::kInvalid);
  EXPECT_EQ(code_of(Code::kInvalidArgument, "something new"), Errc::kInvalid);
  EXPECT_EQ(code_of(Code::kUnimplemented, "unknown service"), Errc::kUnsupported);
  EXPECT_EQ(code_of(Code::kDataLoss, "etcdserver: corrupt cluster"), Errc::kCorrupt);
}

TEST(EtcdVerdictTest, TheFullStoreNamesItsAlarm) {
  const Verdict verdict = server_said(Code::kResourceExhausted,
                                      "etcdserver: mvcc: database space exceeded", Access::kWrite);
  EXPECT_NE(verdict.error.message.find("NOSPACE"), std::string::npos);
}

}  // namespace verdict_test
}  // namespace muster::etcd
