// muster run whose arbiter is musterd: three servers that come and go.
#include <gtest/gtest.h>

#include "tests/cli/operators.h"
#include "tests/cli/run_program.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/musterd_cluster.h"
#include "tests/support/radosgw.h"

namespace muster {
namespace run_musterd_test {

class RunOnMusterdTest : public ::testing::Test {
 protected:
  static testing::MusterdClusterOptions three(const testing::EtcdCluster& engine) {
    testing::MusterdClusterOptions options;
    options.servers = 3;
    options.engine = engine.url("muster");
    return options;
  }
  static Words forever() { return {"sleep", "1000"}; }

  testing::EtcdCluster engine_;
  testing::MusterdCluster musterd_{three(engine_)};
  const std::string arbiter_ = musterd_.url("app");
};

// R43: a store that musterd hosts lists what its clients elect; the servers' own election is in the
// engine.
TEST_F(RunOnMusterdTest, ElectionsAreListedHereAndInTheEngine) {
  Runner job(arbiter_, "n1", {}, forever());
  ASSERT_FALSE(job.next("child_started").is_null());
  const auto list = [](const std::string& store) {
    return run_muster({"elections", "--arbiter", store, "--json"}).json()["elections"];
  };
  const nlohmann::json hosted = list(arbiter_);
  ASSERT_EQ(hosted.size(), 1u);
  EXPECT_EQ(hosted[0]["name"], "job");
  EXPECT_EQ(hosted[0]["leader"], "n1");
  const nlohmann::json own = list(engine_.url("muster"));
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0]["name"], "musterd");
  EXPECT_TRUE(own[0]["leader"].is_string());
}

// R15: operators' commands reached muster run only.
TEST(OperatorsTest, ReachAWorkerOnEtcd) {
  const testing::EtcdCluster engine;
  step_down_pause_resume_and_transfer(engine.url("app"));
}

// Debian's Ceph does not understand quotes in If-Match, and a command that is not the first one
// replaces another.
TEST(OperatorsTest, ReachAWorkerOnRadosgwAsOftenAsTheyLike) {
  step_down_pause_resume_and_transfer(RadosGateway::shared().url("operators"));
}

// The servers fail over within their own lease of two seconds, twice; a lease of twenty outlasts
// that and the time that ending a command in order would take.
TEST_F(RunOnMusterdTest, TheCommandRunsOnWhileTheLeadingServerIsKilled) {
  // Takes about 5 s: the servers' lease of 2 s must run out after each of two kills of their
  // leader.
  const Words lease{"--lease-timeout", "20s"};
  Runner first(arbiter_, "n1", lease, forever());
  ASSERT_FALSE(first.next("child_started").is_null());
  Runner second(arbiter_, "n2", lease, forever());
  ASSERT_EQ(second.next("leader_changed")["current_leader"], "n1");
  for (int round = 0; round < 2; ++round) {
    const int leading = musterd_.leader();
    musterd_.kill(leading);
    static_cast<void>(musterd_.leader());  // The others have one.
    musterd_.restart(leading);
  }
  EXPECT_EQ(first.terminate(), 128 + SIGTERM);
  // It led until it was asked to stop, and its successor is the second term ever.
  EXPECT_EQ(first.next("lost_leadership")["reason"], "stopped");
  EXPECT_GE(second.next("became_leader")["epoch"], 2);
  ASSERT_FALSE(second.next("child_started").is_null());
}

// A lease of thirty seconds is renewed, and looked at, every few: what is quicker was pushed.
TEST_F(RunOnMusterdTest, AHandOverIsPushed) {
  const Words lease{"--lease-timeout", "30s"};
  Runner first(arbiter_, "n1", lease, forever());
  ASSERT_FALSE(first.next("child_started").is_null());
  Runner second(arbiter_, "n2", lease, forever());
  ASSERT_EQ(second.next("leader_changed")["current_leader"], "n1");
  EXPECT_EQ(first.terminate(), 128 + SIGTERM);
  const auto lost = first.next("lost_leadership");
  const auto started = second.next("child_started");
  ASSERT_FALSE(started.is_null());
  EXPECT_LT(started["time"].get<std::int64_t>() - lost["time"].get<std::int64_t>(), 3000);
}

TEST_F(RunOnMusterdTest, KillNineMovesTheCommand) {
  Runner first(arbiter_, "n1", {}, forever());
  ASSERT_FALSE(first.next("child_started").is_null());
  Runner second(arbiter_, "n2", {}, forever());
  ASSERT_EQ(second.next("leader_changed")["current_leader"], "n1");
  const MonoTime killed = boot_now();
  first.kill();
  EXPECT_GE(second.next("became_leader")["epoch"], 2);
  ASSERT_FALSE(second.next("child_started").is_null());
  EXPECT_LT(boot_now() - killed, 10s);
}

}  // namespace run_musterd_test
}  // namespace muster
