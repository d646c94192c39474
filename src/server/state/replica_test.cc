#include "server/state/replica.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/cluster/snapshot.h"
#include "core/membership/testing.h"
#include "sim/world.h"
#include "store/memory/memory_store.h"

namespace muster::server {
namespace {

class ReplicaTest : public ::testing::Test {
 protected:
  std::unique_ptr<Replica> replica(Replica::Listener listener) {
    return std::make_unique<Replica>(
        rlog::Options{}, Replica::Surroundings{process_, store_, Random(1)}, std::move(listener));
  }

  sim::World world_{1};
  sim::Process process_{world_, 1.0, 0s};
  MemoryStore store_{process_};
};

TEST_F(ReplicaTest, WhoeverWatchesHearsOfAReplacedStateBeforeAnythingElseCanSeeIt) {
  cluster::ClusterState ahead;
  ASSERT_TRUE(
      ahead.apply(cluster::encode(cluster::ChangeTopology{membership::testing::registration("n")}),
                  {1, 0, {}}));
  cluster::SnapshotParts parts(ahead);
  int reloaded = 0;
  const auto behind =
      replica({.applied = {}, .reloaded = [&] { ++reloaded; }, .deposed = {}, .stopped = {}});
  const auto loader = behind->load();
  while (const auto part = parts.next()) ASSERT_TRUE(loader->part(*part).ok());
  EXPECT_EQ(reloaded, 0);
  ASSERT_TRUE(loader->finish().ok());
  EXPECT_EQ(behind->state().topology().version(), TopologyVersion(1));
  EXPECT_EQ(reloaded, 1);
}

}  // namespace
}  // namespace muster::server
