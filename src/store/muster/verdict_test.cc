#include "store/muster/verdict.h"

#include <gtest/gtest.h>

namespace muster::musterd {
namespace verdict_test {

using remote::Access;
using remote::Reaction;
using remote::Verdict;
using rpc::Code;
using Word = rpc::Outcome::Word;

/// What someone on the way to musterd may have said as well.
rpc::Outcome said(Code code, const std::string& message, const std::string& leader = "") {
  rpc::Outcome outcome{code, message, Word::kServer, {}};
  if (!leader.empty()) outcome.trailers.add("leader-address", leader);
  return outcome;
}

/// What a server said in its own name.
rpc::Outcome server_said(Code code, const std::string& message) {
  rpc::Outcome outcome = said(code, message);
  outcome.trailers.add("muster-server", "s1");
  return outcome;
}

TEST(MusterVerdictTest, AnythingThatFailsBeforeTheRequestLeftIsTriedAgain) {
  for (const Code code : {Code::kUnavailable, Code::kCancelled, Code::kAborted}) {
    const Verdict verdict =
        judge({code, "connection refused", Word::kNeverLeft, {}}, Access::kWrite);
    EXPECT_EQ(verdict.reaction, Reaction::kTryAgain);
    EXPECT_EQ(verdict.error.code, Errc::kUnavailable);
  }
}

// P01: a write whose answer is lost is neither a failure nor sent again.
TEST(MusterVerdictTest, AWriteThatMayHaveLandedIsAmbiguousAndNotSentAgain) {
  for (const Code code :
       {Code::kUnknown, Code::kDeadlineExceeded, Code::kUnavailable, Code::kCancelled,
        Code::kInternal, Code::kDataLoss, Code::kFailedPrecondition, Code::kAlreadyExists}) {
    const Verdict verdict = judge(said(code, "some words"), Access::kWrite);
    EXPECT_EQ(verdict.reaction, Reaction::kFail) << static_cast<int>(code);
    EXPECT_EQ(verdict.error.code, Errc::kAmbiguous) << static_cast<int>(code);
  }
}

// Whatever code the end of a connection is given, it is not the server's.
TEST(MusterVerdictTest, AConnectionThatBrokeSaysNothingOfAWrite) {
  for (const Code code : {Code::kUnavailable, Code::kPermissionDenied, Code::kAborted}) {
    rpc::Outcome broken = server_said(code, "broken");
    broken.word = Word::kNobody;
    EXPECT_EQ(judge(broken, Access::kWrite).reaction, Reaction::kFail);
    EXPECT_EQ(judge(broken, Access::kWrite).error.code, Errc::kAmbiguous);
    EXPECT_EQ(judge(broken, Access::kRead).reaction, Reaction::kTryAgain);
  }
}

TEST(MusterVerdictTest, UnavailableInTheWordsOfAServerMeansThatNothingWasDone) {
  for (const auto access : {Access::kRead, Access::kWrite}) {
    const Verdict verdict = judge(server_said(Code::kUnavailable, "nobody leads"), access);
    EXPECT_EQ(verdict.reaction, Reaction::kTryAgain);
    EXPECT_EQ(verdict.error.code, Errc::kUnavailable);
  }
  EXPECT_EQ(judge(server_said(Code::kUnknown, ""), Access::kWrite).error.code, Errc::kAmbiguous);
  EXPECT_EQ(judge(said(Code::kResourceExhausted, ""), Access::kWrite).error.code, Errc::kAmbiguous);
}

TEST(MusterVerdictTest, AReadWithoutAnAnswerIsTriedAgain) {
  for (const Code code : {Code::kUnknown, Code::kUnavailable, Code::kDeadlineExceeded}) {
    const Verdict verdict = judge(said(code, "some words"), Access::kRead);
    EXPECT_EQ(verdict.reaction, Reaction::kTryAgain) << static_cast<int>(code);
    EXPECT_EQ(verdict.error.code, Errc::kUnavailable) << static_cast<int>(code);
  }
}

TEST(MusterVerdictTest, AServerThatNamesTheLeaderHasDoneNothing) {
  for (const auto access : {Access::kRead, Access::kWrite}) {
    const Verdict verdict =
        judge(said(Code::kFailedPrecondition, "not the leader", "h2:9000"), access);
    EXPECT_EQ(verdict.reaction, Reaction::kTryAgain);
    EXPECT_EQ(verdict.elsewhere, "h2:9000");
    EXPECT_EQ(verdict.error.code, Errc::kUnavailable);
  }
  // An address beside any other answer changes nothing.
  EXPECT_EQ(judge(said(Code::kUnknown, "", "h2:9000"), Access::kWrite).error.code,
            Errc::kAmbiguous);
}

// P03: each kind of refusal asks for another reaction, so each is its own outcome.
TEST(MusterVerdictTest, RefusalsAreToldApart) {
  const struct {
    Code code;
    Errc means;
  } answers[] = {
      {Code::kAborted, Errc::kConflict},
      {Code::kNotFound, Errc::kNotFound},
      {Code::kResourceExhausted, Errc::kThrottled},
      {Code::kPermissionDenied, Errc::kDenied},
      {Code::kUnauthenticated, Errc::kDenied},
      {Code::kInvalidArgument, Errc::kInvalid},
      {Code::kUnimplemented, Errc::kUnsupported},
  };
  for (const auto& [code, means] : answers) {
    for (const auto access : {Access::kRead, Access::kWrite}) {
      const Verdict verdict = judge(server_said(code, "some words"), access);
      EXPECT_EQ(verdict.reaction, Reaction::kFail) << static_cast<int>(code);
      EXPECT_EQ(verdict.error.code, means) << static_cast<int>(code);
      EXPECT_NE(verdict.error.message.find("some words"), std::string::npos);
    }
  }
  EXPECT_EQ(judge(said(Code::kDataLoss, ""), Access::kRead).error.code, Errc::kCorrupt);
}

}  // namespace verdict_test
}  // namespace muster::musterd
