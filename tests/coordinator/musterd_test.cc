// Workers whose arbiter is musterd: its servers come and go, and changes are pushed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/musterd_cluster.h"

namespace muster {
namespace musterd_test {

using ::testing::IsEmpty;

class MusterdArbiterTest : public ::testing::Test {
 protected:
  static testing::MusterdClusterOptions three(const testing::EtcdCluster& engine) {
    testing::MusterdClusterOptions options;
    options.servers = 3;
    options.engine = engine.url("muster");
    return options;
  }

  testing::EtcdCluster engine_;
  testing::MusterdCluster musterd_{three(engine_)};
};

// P17: the servers fail over within their lease of two seconds, so a lease of twelve outlasts it.
TEST_F(MusterdArbiterTest, TheLeaderOutlastsTheKillingOfEachServer) {
  // Takes about 7 s: the servers' lease of 2 s must run out after each of three kills of their
  // leader.
  Fleet fleet(musterd_.url("app"), {{"heartbeatInterval", 500},
                                    {"leaseTimeout", 12000},
                                    {"workerTimeout", 16000},
                                    {"startupJitterMax", 0}});
  for (const char* id : {"a", "b", "c"}) fleet.start(id);
  ASSERT_TRUE(fleet.settles());
  const std::uint64_t epoch = fleet.epoch();
  const auto leader = fleet.leader();
  ASSERT_TRUE(leader);
  for (int round = 0; round < 3; ++round) {
    const int leading = musterd_.leader();
    musterd_.kill(leading);
    static_cast<void>(musterd_.leader());  // The others have one.
    musterd_.restart(leading);
    ASSERT_TRUE(fleet.settles());
  }
  EXPECT_EQ(fleet.epoch(), epoch);
  EXPECT_EQ(fleet.leader(), leader);
  EXPECT_THAT(contradictions(fleet.beliefs()), IsEmpty());
  EXPECT_THAT(contradictions(fleet.accepted_writes()), IsEmpty());
}

// Followers look every five seconds here; what makes them quick is being told.
TEST_F(MusterdArbiterTest, AReleaseIsPushedToTheFollowers) {
  Fleet fleet(musterd_.url("app"), {{"heartbeatInterval", 5000},
                                    {"leaseTimeout", 20000},
                                    {"workerTimeout", 30000},
                                    {"startupJitterMax", 0}});
  for (const char* id : {"a", "b", "c", "d"}) fleet.start(id);
  ASSERT_TRUE(fleet.settles());
  std::string leader = fleet.wait_for_leader();
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t epoch = fleet.epoch();
    const MonoTime began = boot_now();
    ASSERT_EQ(fleet.at(leader).leave(), 0);
    leader = fleet.wait_for_leader(epoch);
    ASSERT_NE(leader, "");
    EXPECT_LT(boot_now() - began, 3s);
  }
}

}  // namespace musterd_test
}  // namespace muster
