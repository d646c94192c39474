// An engine that is restored from an older copy under a musterd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/musterd.h"
#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"

namespace muster::testing {
namespace restored_engine_test {

// R05, L1: a log must not go on in another past. The server says why it ends, with the exit code
// that its help names.
TEST(RestoredEngineTest, AServerWhoseEtcdWentBackEndsAndSaysSo) {
  EtcdCluster etcd;
  const TempDir dir;
  Musterd server("s1", etcd.url("log"), dir.path());
  ASSERT_TRUE(eventually([&] { return put(server, "k", "old", 2s).ok(); }));
  etcd.save_snapshot("old");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(put(server, "k", "new").ok());
  etcd.restore_snapshot("old");
  EXPECT_EQ(server.wait(), 70);
  EXPECT_THAT(server.log(), ::testing::HasSubstr("back in time"));
}

}  // namespace restored_engine_test
}  // namespace muster::testing
