#include "core/engine/upkeep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::engine {
namespace upkeep_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kMiB = 1 << 20;

/// Member 1 of three, leading, with nothing to do.
UpkeepSight sight() {
  UpkeepSight here;
  here.vitals = {.member_id = 1,
                 .leader_id = 1,
                 .revision = 50'000,
                 .file_bytes = 10 * kMiB,
                 .used_bytes = 9 * kMiB};
  for (const std::uint64_t id : {1U, 2U, 3U}) {
    here.members.push_back({id, "s", "http://h:9001", {"h:9000"}, false});
  }
  here.quota_bytes = 1000 * kMiB;
  here.compacted = 49'000;
  return here;
}

bool idle(const UpkeepPlan& plan) {
  return plan.promote.empty() && !plan.compact && !plan.defragment && plan.disarm.empty() &&
         !plan.overfull;
}

TEST(UpkeepTest, AHealthyMemberIsLeftAlone) {
  EXPECT_TRUE(idle(plan_upkeep(sight())));
}

TEST(UpkeepTest, TheLeaderPromotesLearnersThatRun) {
  UpkeepSight here = sight();
  here.members.push_back({4, "s4", "http://h4:9001", {}, true});
  here.members.push_back({5, "", "http://h5:9001", {}, true});
  EXPECT_THAT(plan_upkeep(here).promote, ElementsAre(4));
  here.vitals.leader_id = 2;
  EXPECT_THAT(plan_upkeep(here).promote, IsEmpty());
}

TEST(UpkeepTest, NothingIsDoneWithoutALeaderOrAVote) {
  UpkeepSight here = sight();
  here.full = {1};
  here.vitals.leader_id = 0;
  EXPECT_TRUE(idle(plan_upkeep(here)));
  here.vitals.leader_id = 2;
  here.vitals.learner = true;
  EXPECT_TRUE(idle(plan_upkeep(here)));
}

TEST(UpkeepTest, HistoryIsForgottenBeforeTheQuotaIsReached) {
  UpkeepSight here = sight();
  here.vitals.file_bytes = here.vitals.used_bytes = 600 * kMiB;
  here.compacted = 1000;
  EXPECT_EQ(plan_upkeep(here).compact, 49'000);
  here.compacted = 49'000;
  EXPECT_FALSE(plan_upkeep(here).compact) << "the same again frees nothing";
  here.compacted = 1000;
  here.vitals.leader_id = 2;
  EXPECT_FALSE(plan_upkeep(here).compact) << "the leader does it";
}

TEST(UpkeepTest, AFullEngineIsCompactedThenDefragmentedThenFreed) {
  UpkeepSight here = sight();
  here.full = {1};
  here.vitals.file_bytes = 1000 * kMiB;
  here.vitals.used_bytes = 950 * kMiB;
  EXPECT_EQ(plan_upkeep(here).compact, 50'000);
  EXPECT_FALSE(plan_upkeep(here).defragment);

  here.compacted = 50'000;
  EXPECT_TRUE(plan_upkeep(here).defragment);
  EXPECT_THAT(plan_upkeep(here).disarm, IsEmpty());

  here.vitals.file_bytes = 10 * kMiB;
  EXPECT_FALSE(plan_upkeep(here).defragment);
  EXPECT_THAT(plan_upkeep(here).disarm, ElementsAre(1));
}

TEST(UpkeepTest, WhatDoesNotFitIsSaid) {
  UpkeepSight here = sight();
  here.full = {1};
  here.compacted = here.vitals.revision;
  here.vitals.file_bytes = 1000 * kMiB;
  here.vitals.used_bytes = 990 * kMiB;
  EXPECT_FALSE(plan_upkeep(here).overfull) << "it has not been tried yet";
  here.tried = true;
  here.rested = false;
  EXPECT_TRUE(plan_upkeep(here).overfull);
  EXPECT_FALSE(plan_upkeep(here).defragment) << "not all the time";
  here.rested = true;
  EXPECT_TRUE(plan_upkeep(here).defragment) << "objects may have been removed";
}

TEST(UpkeepTest, ALeaderDoesNotPauseToTidyUp) {
  UpkeepSight here = sight();
  here.vitals.file_bytes = 300 * kMiB;
  here.vitals.used_bytes = 20 * kMiB;
  EXPECT_FALSE(plan_upkeep(here).defragment);
  here.vitals.leader_id = 2;
  EXPECT_TRUE(plan_upkeep(here).defragment);
  here.vitals.leader_id = 1;
  here.members.resize(1);
  EXPECT_TRUE(plan_upkeep(here).defragment) << "alone there is nobody else to lead";
}

// An alarm of a member that is gone would stop all writes for ever: nobody else would end it.
TEST(UpkeepTest, TheAlarmOfARemovedMemberEnds) {
  UpkeepSight here = sight();
  here.full = {9};
  here.compacted = here.vitals.revision;
  EXPECT_THAT(plan_upkeep(here).disarm, ElementsAre(9));
}

}  // namespace upkeep_test
}  // namespace muster::engine
