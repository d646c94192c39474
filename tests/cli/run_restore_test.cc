// An etcd that is restored from an older snapshot under those who use it.
#include <gtest/gtest.h>

#include "tests/cli/run_program.h"
#include "tests/support/etcd_cluster.h"

namespace muster {
namespace run_restore_test {

class EtcdRestoreTest : public ::testing::Test {
 protected:
  testing::EtcdCluster etcd_;
};

// R05: takes about 6 s: an etcd that starts twice, and a lease of one second that is waited out
// twice.
TEST_F(EtcdRestoreTest, WorkersSayThatTheStoreWentBackAndElectAboveEveryEpochTheySaw) {
  Worker first(etcd_.url("app"), "w1");
  ASSERT_EQ(first.next("term:began")["epoch"], 1);
  etcd_.save_snapshot("old");
  Worker second(etcd_.url("app"), "w2");
  ASSERT_FALSE(second.next("leader:changed").is_null());
  first.kill();
  ASSERT_EQ(second.next("term:began")["epoch"], 2);
  Worker third(etcd_.url("app"), "w3");
  ASSERT_EQ(third.next("leader:changed")["epoch"], 2);
  etcd_.restore_snapshot("old");
  EXPECT_FALSE(second.next("trouble").is_null());
  EXPECT_FALSE(third.next("trouble").is_null());
  auto changed = third.next("leader:changed");
  while (!changed.is_null() && changed["epoch"] < 3) changed = third.next("leader:changed");
  ASSERT_FALSE(changed.is_null());
  EXPECT_EQ(second.terminate(), 0);
  EXPECT_EQ(third.terminate(), 0);
}

// R05: the same for a command: its work ends, and goes on under a higher epoch.
TEST_F(EtcdRestoreTest, ACommandGoesOnAfterItsStoreWentBack) {
  // Takes about 8 s: an etcd that starts twice, and a lease of two seconds that is waited out
  // twice.
  Runner first(etcd_.url("app"), "n1", {}, {"sleep", "1000"});
  ASSERT_EQ(first.next("became_leader")["epoch"], 1);
  etcd_.save_snapshot("old");
  Runner second(etcd_.url("app"), "n2", {}, {"sleep", "1000"});
  ASSERT_FALSE(second.next("leader_changed").is_null());
  first.kill();
  ASSERT_EQ(second.next("became_leader")["epoch"], 2);
  etcd_.restore_snapshot("old");
  EXPECT_FALSE(second.next("trouble").is_null());
  EXPECT_EQ(second.next("became_leader")["epoch"], 3);
  EXPECT_EQ(second.terminate(), 128 + SIGTERM);
}

}  // namespace run_restore_test
}  // namespace muster
