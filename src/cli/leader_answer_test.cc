#include "cli/leader_answer.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace leader_answer_test {

LeaderState held() {
  LeaderState state;
  state.leader = WorkerId("w1");
  state.epoch = Epoch(7);
  state.lease = 15s;
  return state;
}

TEST(LeaderAnswerTest, EstimatesTheLeaseFromTheStoresAge) {
  const LeaderAnswer answer = judge(held(), 4s);
  EXPECT_EQ(
      answer.to_json("job"),
      R"({"name":"job","leader":"w1","epoch":7,"leaseLeftMs":11000,"ageMs":4000,"confirmed":true})");
  EXPECT_EQ(answer.to_text("job"), "w1 leads job, epoch 7, lease left 11s, renewed 4s ago");
}

// R07: the store's clock may be wrong; only renewals that do not come say that nobody leads.
TEST(LeaderAnswerTest, ALeaseThatLooksExpiredIsWorthASecondLook) {
  const LeaderAnswer answer = judge(held(), 15s);
  EXPECT_TRUE(answer.looks_expired);
  EXPECT_EQ(
      answer.to_json("job"),
      R"({"name":"job","leader":"w1","epoch":7,"leaseLeftMs":null,"ageMs":15000,"confirmed":false})");
  EXPECT_FALSE(judge(held(), 14s).looks_expired);
}

TEST(LeaderAnswerTest, OneLookAtAStoreWithoutAClockCannotTell) {
  const LeaderAnswer answer = judge(held(), {});
  EXPECT_EQ(
      answer.to_json("job"),
      R"({"name":"job","leader":"w1","epoch":7,"leaseLeftMs":null,"ageMs":null,"confirmed":false})");
}

TEST(LeaderAnswerTest, ALeaseOfUnknownLengthCannotBeConfirmed) {
  LeaderState state = held();
  state.lease = 0s;
  EXPECT_FALSE(judge(state, 4s).confirmed);
}

TEST(LeaderAnswerTest, AReleaseIsCertainWithoutAClock) {
  LeaderState state = held();
  state.leader.reset();
  const LeaderAnswer answer = judge(state, {});
  EXPECT_FALSE(answer.leader);
  EXPECT_TRUE(answer.confirmed);
  EXPECT_EQ(nobody_yet().to_text("job"), "there has been no leader of job yet");
}

}  // namespace leader_answer_test
}  // namespace muster::cli
