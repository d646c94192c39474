#include "store/postgres/verdict.h"

#include <gmock/gmock.h>

namespace muster::postgres {
namespace verdict_test {

Verdict of(const std::string& state, const std::string& severity, Access access) {
  return judge({state, severity, "the server's words"}, access);
}

TEST(PostgresVerdictTest, AnErrorUndidTheStatement) {
  for (const char* state :
       {"25006", "55000", "40001", "40P01", "53100", "57014", "XX000", "99999"}) {
    EXPECT_EQ(of(state, "ERROR", Access::kWrite).error.code, Errc::kUnavailable) << state;
  }
  EXPECT_EQ(of("42501", "ERROR", Access::kWrite).error.code, Errc::kDenied);
  EXPECT_EQ(of("42P01", "ERROR", Access::kRead).error.code, Errc::kInvalid);
  EXPECT_EQ(of("42883", "ERROR", Access::kRead).error.code, Errc::kUnsupported);
  EXPECT_EQ(of("22021", "ERROR", Access::kWrite).error.code, Errc::kInvalid);
  EXPECT_EQ(of("53200", "ERROR", Access::kWrite).error.code, Errc::kThrottled);
  EXPECT_EQ(of("XX001", "ERROR", Access::kRead).error.code, Errc::kCorrupt);
}

TEST(PostgresVerdictTest, OnlyAnotherServerHelpsAgainstAStandby) {
  for (const char* state : {"25006", "55000"}) {
    EXPECT_EQ(of(state, "ERROR", Access::kWrite).reaction, Reaction::kTryAgain) << state;
  }
  EXPECT_EQ(of("53100", "ERROR", Access::kWrite).reaction, Reaction::kFail);
}

TEST(PostgresVerdictTest, AWriteOfASessionThatEndedMayHaveLanded) {
  for (const char* severity : {"FATAL", "PANIC", ""}) {
    const Verdict write = of("57P01", severity, Access::kWrite);
    EXPECT_EQ(write.error.code, Errc::kAmbiguous) << severity;
    EXPECT_EQ(write.reaction, Reaction::kFail) << severity;
    const Verdict read = of("57P01", severity, Access::kRead);
    EXPECT_EQ(read.error.code, Errc::kUnavailable) << severity;
    EXPECT_EQ(read.reaction, Reaction::kTryAgain) << severity;
  }
  EXPECT_EQ(of("08P01", "ERROR", Access::kWrite).error.code, Errc::kAmbiguous)
      << "a pooler that lost its server";
}

TEST(PostgresVerdictTest, WhatOnlyAnOperatorCanChangeIsToldFromAnOutage) {
  const auto code = [](const char* message) { return judge_connection(message).error.code; };
  EXPECT_EQ(code("FATAL: password authentication failed for user \"app\""), Errc::kDenied);
  EXPECT_EQ(code("fe_sendauth: no password supplied"), Errc::kDenied);
  EXPECT_EQ(code("SSL error: certificate verify failed"), Errc::kDenied);
  EXPECT_EQ(code("server certificate for \"a\" does not match host name \"b\""), Errc::kDenied);
  EXPECT_EQ(code("FATAL: database \"nothing\" does not exist"), Errc::kInvalid);
  EXPECT_EQ(code("FATAL: role \"nobody\" does not exist"), Errc::kDenied);
  EXPECT_EQ(code("Connection refused"), Errc::kUnavailable);
  EXPECT_EQ(code("FATAL: the database system is starting up"), Errc::kUnavailable);
  EXPECT_EQ(code("FATAL: sorry, too many clients already"), Errc::kUnavailable);
}

}  // namespace verdict_test
}  // namespace muster::postgres
