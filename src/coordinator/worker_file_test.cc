#include <algorithm>

#include "coordinator/coordinator_test_world.h"

namespace muster {
namespace worker_file_test {

// R15: a leader without a file is nobody to transfer to, and `muster workers` does not show it.
TEST(WorkerFileTest, ALeaderWhoseFileIsRemovedWritesItAgainWithinAWorkerTimeout) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.run(30s);
  ASSERT_TRUE(a.leads());
  const Key file = world.keys.worker(WorkerId("a"));
  (void)world.shared->objects->remove(file, {});
  ASSERT_TRUE(world.body(file).empty());
  EXPECT_LE(world.run_until([&] { return !world.body(file).empty(); }, 1min),
            world.options.worker_timeout);
}

// S05: a second process with the leader's id is reported, and what it takes along is put back.
TEST(WorkerFileTest, ALeaderReportsATwinAndHasItsFileBackWhenThatIsGone) {
  CoordinatorWorld world;
  auto& a = world.add("a");
  world.run(30s);
  ASSERT_TRUE(a.leads());
  auto& twin = world.add("a");
  const auto reported = [&a] {
    const auto troubles = a.saw<TroubleEvent>();
    return std::any_of(troubles.begin(), troubles.end(), [](const TroubleEvent& trouble) {
      return trouble.kind == TroubleEvent::Kind::kDuplicateWorker;
    });
  };
  EXPECT_LE(world.run_until(reported, 1min), world.options.worker_timeout);
  ASSERT_TRUE(a.leads());
  twin.process->post([&] { twin.coordinator->stop([] {}); });
  world.run(1s);
  const Key file = world.keys.worker(WorkerId("a"));
  ASSERT_TRUE(world.body(file).empty()) << "the twin has removed it";
  EXPECT_LE(world.run_until([&] { return !world.body(file).empty(); }, 1min),
            world.options.worker_timeout);
  EXPECT_TRUE(a.leads());
}

}  // namespace worker_file_test
}  // namespace muster
