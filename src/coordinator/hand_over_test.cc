// A clean stop while a plugin is at work: what the successor finds, and what is said about it.

#include <gtest/gtest.h>

#include "base/log.h"
#include "coordinator/coordinator_test_world.h"

namespace muster {
namespace hand_over_test {

/// One coordinator whose plugins have a thread of their own, and a plugin whose work takes a minute
/// in steps of 100 ms.
struct HandOverTest : ::testing::Test {
  HandOverTest() {
    set_log_sink({});
    CoordinatorOptions options;
    options.worker_id = WorkerId("a");
    options.startup_jitter_max = 0s;
    coordinator = std::make_unique<NamespaceCoordinator>(
        "default", options,
        NamespaceCoordinator::Surroundings{process, callbacks, store, Random(1), {}});
    plugin->on_work = [this](const LeaseGuard& guard) {
      for (int step = 0; step < 600 && !(asks && guard.stopping()); ++step) {
        // Nothing else of this thread runs meanwhile.
        callbacks.pause(world.now() + 101ms);
        world.run(world.now() + 100ms);
      }
    };
    coordinator->plugins().subscribe(plugin);
    coordinator->plugins().listen([this](const CoordinatorEvent& event) {
      if (const auto* end = std::get_if<TermEndedEvent>(&event)) ends.push_back(end->reason);
      if (const auto* trouble = std::get_if<TroubleEvent>(&event))
        troubles.push_back(trouble->kind);
    });
    process.post([this] { coordinator->start(); });
    world.at(world.now() + 10s, [this] {
      EXPECT_TRUE(coordinator->leads()) << "the test shows nothing";
      process.post([this] { coordinator->stop([this] { stopped_at = world.now(); }); });
    });
  }
  ~HandOverTest() override {
    process.kill();
    callbacks.kill();
  }
  [[nodiscard]] LeaderState state() const {
    return *decode_leader_state(shared->objects->entries().at(NamespaceKeys("default").state).body);
  }

  sim::World world{1};
  sim::Process process{world, 1.0, 0s};
  sim::Process callbacks{world, 1.0, 0s};
  std::shared_ptr<sim::SharedStore> shared = std::make_shared<sim::SharedStore>();
  sim::FaultyStore store{world, process, shared};
  std::unique_ptr<NamespaceCoordinator> coordinator;
  std::shared_ptr<NotingPlugin> plugin = std::make_shared<NotingPlugin>();
  bool asks = true;
  std::optional<Duration> stopped_at;
  std::vector<LossReason> ends;
  std::vector<TroubleEvent::Kind> troubles;
};

// R08: the hand-over of a busy leader took a whole lease.
TEST_F(HandOverTest, WorkThatAsksWhetherItShouldStopCostsTheSuccessorNothing) {
  world.run(90s);
  ASSERT_TRUE(stopped_at);
  EXPECT_LE(*stopped_at, 11s);
  EXPECT_EQ(state().leader, std::nullopt);
  ASSERT_TRUE(state().released);
  EXPECT_EQ(ends, std::vector{LossReason::kReleased});
  EXPECT_TRUE(troubles.empty());
}

TEST_F(HandOverTest, NoFurtherWorkBeginsOnceTheTermIsToEnd) {
  const auto other = std::make_shared<NotingPlugin>("other");
  coordinator->plugins().subscribe(other);
  world.run(90s);
  EXPECT_EQ(other->works, 0);
  EXPECT_EQ(other->notes, (std::vector<std::string>{"became 1", "stopped"}));
}

// R08: "released" was said although nothing was.
TEST_F(HandOverTest, ATermWhoseWorkGoesOnIsReportedAsLeftToExpire) {
  asks = false;
  world.run(90s);
  ASSERT_TRUE(stopped_at);
  EXPECT_EQ(state().leader, WorkerId("a"));
  EXPECT_FALSE(state().released);
  EXPECT_EQ(ends, std::vector{LossReason::kLeftToExpire});
  EXPECT_EQ(troubles, std::vector{TroubleEvent::Kind::kPluginStalled});
}

TEST_F(HandOverTest, AReleaseThatTheStoreDoesNotConfirmIsReportedAsLeftToExpire) {
  world.at(10s, [this] { shared->faults.down = true; });
  world.run(90s);
  ASSERT_TRUE(stopped_at);
  EXPECT_EQ(state().leader, WorkerId("a"));
  EXPECT_EQ(ends, std::vector{LossReason::kLeftToExpire});
}

}  // namespace hand_over_test
}  // namespace muster
