#include "core/engine/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::engine {
namespace members_test {

using ::testing::HasSubstr;
using Step = AdmissionPlan::Step;

Member member(std::uint64_t id, bool learner = false) {
  const std::string number = std::to_string(id);
  return {id, "s" + number, "http://h" + number + ":9001", {"h" + number + ":9000"}, learner};
}

const Members kThree{member(1), member(2), member(3)};

TEST(AdmissionTest, ANewServerIsAdded) {
  EXPECT_EQ(plan_admission(kThree, {"s4", "http://h4:9001"})->step, Step::kAdd);
}

TEST(AdmissionTest, AServerThatLostItsDataIsReplaced) {
  const auto plan = plan_admission(kThree, {"s2", "http://h2:9001"});
  EXPECT_EQ(plan->step, Step::kReplace);
  EXPECT_EQ(plan->id, 2U);
}

// Asking again after a crash between being added and starting must not add it twice.
TEST(AdmissionTest, AServerThatIsExpectedIsToldSoAgain) {
  Members members = kThree;
  members.push_back({4, "", "http://h4:9001", {}, true});
  EXPECT_EQ(plan_admission(members, {"s4", "http://h4:9001"})->step, Step::kReady);
}

TEST(AdmissionTest, ALearnerThatLostItsDataIsReplacedToo) {
  Members members = kThree;
  members.push_back(member(4, true));
  EXPECT_EQ(plan_admission(members, {"s4", "http://h4:9001"})->step, Step::kReplace);
}

TEST(AdmissionTest, OneAtATime) {
  Members members = kThree;
  members.push_back({4, "", "http://h4:9001", {}, true});
  EXPECT_TRUE(plan_admission(members, {"s5", "http://h5:9001"}).is(Errc::kThrottled));
  EXPECT_TRUE(plan_admission(members, {"s2", "http://h2:9001"}).is(Errc::kThrottled));
}

TEST(AdmissionTest, NobodyTakesAnothersNameOrAddress) {
  const auto name = plan_admission(kThree, {"s2", "http://h9:9001"});
  ASSERT_TRUE(name.is(Errc::kInvalid));
  EXPECT_THAT(name.error().message, HasSubstr("remove it first"));
  EXPECT_TRUE(plan_admission(kThree, {"s9", "http://h2:9001"}).is(Errc::kInvalid));
  EXPECT_TRUE(plan_admission(kThree, {"s1", "http://h2:9001"}).is(Errc::kInvalid));
}

TEST(AdmissionTest, TheOnlyVoteCannotBeReplaced) {
  EXPECT_TRUE(plan_admission({member(1)}, {"s1", "http://h1:9001"}).is(Errc::kInvalid));
}

TEST(RemovalTest, FindsTheMemberByName) {
  EXPECT_EQ(plan_removal(kThree, "s3").value(), 3U);
  const auto unknown = plan_removal(kThree, "s9");
  ASSERT_TRUE(unknown.is(Errc::kNotFound));
  EXPECT_THAT(unknown.error().message, HasSubstr("s1, s2, s3"));
  EXPECT_TRUE(plan_removal({{4, "", "http://h4:9001", {}, true}}, "").is(Errc::kNotFound));
}

TEST(RemovalTest, TheLastVoteStays) {
  EXPECT_TRUE(plan_removal({member(1), member(2, true)}, "s1").is(Errc::kInvalid));
  EXPECT_EQ(plan_removal({member(1), member(2, true)}, "s2").value(), 2U);
}

}  // namespace members_test
}  // namespace muster::engine
