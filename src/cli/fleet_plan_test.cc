#include "cli/fleet_plan.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace fleet_plan_test {

TEST(FleetPlanTest, DefaultsCostOneAndAHalfRequestsForAFollowerAndTwoForTheLeader) {
  const FleetPlan plan = plan_fleet({}, 8);
  EXPECT_DOUBLE_EQ(plan.requests_per_follower_cycle, 1.5);
  EXPECT_DOUBLE_EQ(plan.requests_per_leader_cycle, 2.0);
}

TEST(FleetPlanTest, AddsUpRequestsAndCost) {
  const FleetPlan plan = plan_fleet({}, 1);
  EXPECT_DOUBLE_EQ(plan.gets_per_hour, 0);
  EXPECT_DOUBLE_EQ(plan.puts_per_hour, 720);
  EXPECT_DOUBLE_EQ(plan.lists_per_hour, 720);
  EXPECT_NEAR(plan.dollars_per_month, 730 * 1440 * 0.005 / 1000, 1e-9);

  const FleetPlan many = plan_fleet({}, 101);
  EXPECT_NEAR(many.gets_per_hour, 100 * 3600 / 5.5, 1e-6);
  EXPECT_NEAR(many.puts_per_hour, 100 * 3600 / 5.5 * 0.5 + 720, 1e-6);
}

// S14: a list comes in pages of a thousand.
TEST(FleetPlanTest, CountsThePagesOfALongList) {
  EXPECT_DOUBLE_EQ(plan_fleet({}, 2500).lists_per_hour, 3 * plan_fleet({}, 10).lists_per_hour);
}

TEST(FleetPlanTest, TheWorstFailoverIsALookLateALeaseAndATurn) {
  const FleetPlan plan = plan_fleet({}, 3);
  EXPECT_EQ(plan.failover_worst, 5s + 1s + 15s + 1s);
  EXPECT_EQ(plan.failover_worst_slow_store, 22s + 7 * 3s);
}

TEST(FleetPlanTest, TheFleetIsLimitedByReadsOrByWrites) {
  EXPECT_EQ(plan_fleet({}, 3).workers_max, 30250u);  // 5500 reads a second, one each 5.5 s.
  S3Terms few_writes;
  few_writes.puts_per_second = 100;  // One write each 11 s.
  EXPECT_EQ(plan_fleet({}, 3, few_writes).workers_max, 1100u);
}

TEST(FleetPlanTest, AShortWorkerTimeoutCostsAWriteWithEachHeartbeat) {
  CoordinatorOptions options;
  options.worker_timeout = 2s;
  EXPECT_DOUBLE_EQ(plan_fleet(options, 3).requests_per_follower_cycle, 2.0);
}

}  // namespace fleet_plan_test
}  // namespace muster::cli
