// What a candidate makes of a store that fails, or is rarely looked at.

#include <gtest/gtest.h>

#include <algorithm>

#include "candidate/candidate.h"
#include "candidate/candidate_test_world.h"

namespace muster {
namespace candidate_store_test {

using World = CandidateWorld;

// Anyone who watches is told of an outage, not of every request that fails in it.
TEST(CandidateTest, AStoreThatAnswersReadsAndFailsWritesIsReportedOnce) {
  World world;
  auto& a = world.add("a");
  auto& b = world.add("b");
  const auto reports = [](const auto& node) {
    const auto all = node.template saw<telemetry::Trouble>();
    return std::count_if(all.begin(), all.end(), [](const telemetry::Trouble& trouble) {
      return trouble.kind == telemetry::Trouble::Kind::kStoreUnreachable;
    });
  };
  world.run(10s);
  for (int outage = 1; outage <= 2; ++outage) {
    world.shared->faults.disk_full = true;
    world.run(60s);
    EXPECT_EQ(reports(a), outage);
    EXPECT_EQ(reports(b), outage);
    world.shared->faults.disk_full = false;
    world.run(30s);
  }
}

// A leader that is missing is noticed within the election interval, however rare the heartbeats.
TEST(CandidateTest, TheElectionCheckLooksWhereHeartbeatsAreRare) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    world.options.lease = 60s;
    world.options.election_interval = 1s;
    auto& a = world.add("a");
    world.run(5s);
    world.add("b");
    world.run(30s);
    ASSERT_TRUE(a.leads());
    a.tell([](Candidate& candidate) { candidate.stop([] {}); });
    EXPECT_LT(world.run_until([&] { return world.leader() && world.leader() != &a; }, 60s), 8s)
        << "seed " << seed;
  }
}

}  // namespace candidate_store_test
}  // namespace muster
