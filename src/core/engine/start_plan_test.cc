#include "core/engine/start_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::engine {
namespace start_plan_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Step = StartPlan::Step;
using Kind = PeerView::Kind;

/// s2 of three, with nobody else to be seen.
StartSight sight() {
  return {
      .name = "s2",
      .peer_url = "http://h2:9001",
      .peer_urls = {{"s1", "http://h1:9001"}, {"s2", "http://h2:9001"}, {"s3", "http://h3:9001"}},
      .has_data = false,
      .views = {}};
}

PeerView waiting(const std::string& name, bool saw_all = true) {
  return {.kind = Kind::kWaiting, .name = name, .saw_all = saw_all};
}

/// A member that lists s1 to s3; those in `up` have been up.
PeerView listing(const std::string& up) {
  Members members;
  for (const char number : {'1', '2', '3'}) {
    const std::string n(1, number);
    Member member{static_cast<std::uint64_t>(number), "s" + n, "http://h" + n + ":9001", {}, false};
    if (up.find(number) != std::string::npos) member.contacts = {"h" + n + ":9000"};
    members.push_back(member);
  }
  return {.kind = Kind::kMember, .members = members};
}

TEST(StartPlanTest, DataAreUsed) {
  StartSight here = sight();
  here.has_data = true;
  here.views["s1"] = listing("123");
  EXPECT_EQ(plan_start(here).step, Step::kRestart);
}

TEST(StartPlanTest, OneServerAloneBegins) {
  StartSight here = sight();
  here.peer_urls = {{"s2", "http://h2:9001"}};
  EXPECT_EQ(plan_start(here).step, Step::kBootstrap);
}

TEST(StartPlanTest, ANewClusterBeginsWhenAllAreThereAndEmpty) {
  StartSight here = sight();
  here.views = {{"s1", waiting("s1")}, {"s3", waiting("s3")}};
  EXPECT_EQ(plan_start(here).step, Step::kBootstrap);
}

// A server that lost its data while another was down must not help the third to forget writes.
TEST(StartPlanTest, AnEmptyServerDoesNotVoteBeforeItHasSeenTheOthers) {
  StartSight here = sight();
  here.views = {{"s1", waiting("s1")}, {"s3", {}}};
  const StartPlan plan = plan_start(here);
  EXPECT_EQ(plan.step, Step::kWait);
  EXPECT_THAT(plan.words, HasSubstr("waiting for s3 at http://h3:9001"));
  here.views.clear();
  EXPECT_EQ(plan_start(here).step, Step::kWait);
}

TEST(StartPlanTest, SomebodyElseAtAPeersAddressDoesNotCount) {
  StartSight here = sight();
  here.views = {{"s1", waiting("s1")}, {"s3", waiting("s1")}};
  EXPECT_EQ(plan_start(here).step, Step::kWait);
}

// Anyone who begins at once would leave the others unable to follow.
TEST(StartPlanTest, TheFirstWaitsUntilAllHaveSeenAll) {
  StartSight here = sight();
  here.views = {{"s1", waiting("s1")}, {"s3", waiting("s3", false)}};
  EXPECT_TRUE(sees_all(here));
  const StartPlan plan = plan_start(here);
  EXPECT_EQ(plan.step, Step::kWait);
  EXPECT_THAT(plan.words, HasSubstr("about to begin; waiting for s3"));
}

TEST(StartPlanTest, WhoeverHasSeenAllFollowsTheFirst) {
  StartSight here = sight();
  here.views = {{"s1", listing("")}, {"s3", {}}};
  here.saw_all = true;
  EXPECT_EQ(plan_start(here).step, Step::kBootstrap);
  here.views = {{"s1", listing("13")}, {"s3", listing("13")}};
  EXPECT_EQ(plan_start(here).step, Step::kBootstrap);
}

// Seen with etcd 3.4: a member that was restarted lists the others as never up until it has
// reached them.
TEST(StartPlanTest, AListThatMayBeOldIsNoLeaveToVote) {
  StartSight here = sight();
  here.views = {{"s1", listing("")}, {"s3", {}}};
  EXPECT_EQ(plan_start(here).step, Step::kAsk);
}

TEST(StartPlanTest, AServerThatLostItsDataAsksForAdmission) {
  StartSight here = sight();
  here.views = {{"s1", listing("123")}, {"s3", {}}};
  const StartPlan plan = plan_start(here);
  EXPECT_EQ(plan.step, Step::kAsk);
  EXPECT_THAT(plan.contacts, ElementsAre("h1:9000", "h2:9000", "h3:9000"));
}

TEST(StartPlanTest, AServerThatWasAddedJoins) {
  StartSight here = sight();
  PeerView view = listing("13");
  view.members[1] = {9, "", "http://h2:9001", {}, true};
  here.views["s1"] = view;
  const StartPlan plan = plan_start(here);
  EXPECT_EQ(plan.step, Step::kJoin);
  EXPECT_EQ(plan.members.size(), 3U);
}

TEST(StartPlanTest, AServerThatJoinsAsksFirst) {
  StartSight here = sight();
  here.peer_urls.clear();
  EXPECT_EQ(plan_start(here).step, Step::kAsk);
}

TEST(StartPlanTest, AServerThatWasRemovedAsksToComeBack) {
  StartSight here = sight();
  PeerView view = listing("13");
  view.members.erase(view.members.begin() + 1);
  here.views["s3"] = view;
  EXPECT_EQ(plan_start(here).step, Step::kAsk);
}

}  // namespace start_plan_test
}  // namespace muster::engine
