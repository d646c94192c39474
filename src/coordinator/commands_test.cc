// Operators' commands reach every participant of an election: here the coordinator.

#include <gtest/gtest.h>

#include "base/log.h"
#include "coordinator/coordinator_test_world.h"
#include "elector/control.h"

namespace muster {
namespace commands_test {

/// Three workers, on a store that reports changes and on one that does not.
struct CommandsTest : ::testing::TestWithParam<bool> {
  CommandsTest() {
    set_log_sink({});
    world.shared->watch = GetParam();
    for (const char* id : {"a", "b", "c"}) world.add(id);
    world.run(20s);
  }
  CoordinatorWorld::Node& node(const char* id) {
    return *world.nodes[static_cast<std::size_t>(*id - 'a')];
  }
  /// As muster step-down and its like do; true when it is acknowledged in time.
  bool ask(ControlKind kind, std::optional<WorkerId> worker = {}, std::optional<Epoch> epoch = {}) {
    const std::string id = "command-" + std::to_string(++commands);
    ControlCommand command{id, kind, epoch.value_or(world.state().epoch), std::move(worker), {}};
    write_control(*operator_store, world.keys.control, command, op.now() + 5s,
                  [](const Status&) {});
    const auto acknowledged = [&] {
      const auto record = decode_control(world.body(world.keys.control));
      return record && record->command.id == id && record->ack && record->ack->id == id;
    };
    // The list of workers shows the command; it is due at every other heartbeat.
    return world.run_until(acknowledged, 12s) < 12s;
  }

  CoordinatorWorld world;
  sim::Process op{world.world, 1.0, 0s};
  std::unique_ptr<sim::FaultyStore> operator_store =
      std::make_unique<sim::FaultyStore>(world.world, op, world.shared);
  int commands = 0;
};

// R15: muster step-down could not reach a muster worker.
TEST_P(CommandsTest, ALeaderThatIsAskedToStepDownHandsOver) {
  ASSERT_TRUE(node("a").leads());
  ASSERT_TRUE(ask(ControlKind::kStepDown));
  const auto file = [this] { return world.body(world.keys.worker(WorkerId("a"))); };
  // muster transfer must know that it would not take over now, and that it would later.
  EXPECT_LT(world.run_until([&] { return file().find("backoff") != file().npos; }, 8s), 8s);
  world.run(8s);
  EXPECT_FALSE(node("a").leads());
  ASSERT_NE(world.leader(), nullptr);
  EXPECT_EQ(node("a").saw<TermEndedEvent>()[0].reason, LossReason::kReleased);
  ASSERT_EQ(node("a").saw<CommandEvent>().size(), 1u);
  EXPECT_EQ(node("a").saw<CommandEvent>()[0].kind, "step-down");
  EXPECT_EQ(node("a").plugin->notes, (std::vector<std::string>{"became 1", "stopped"}));
  world.run(30s);
  EXPECT_EQ(file().find("backoff"), std::string::npos);
}

TEST_P(CommandsTest, ATransferPrefersTheOneNamed) {
  ASSERT_TRUE(ask(ControlKind::kTransfer, WorkerId("c")));
  world.run(8s);
  EXPECT_TRUE(node("c").leads());
}

TEST_P(CommandsTest, APausedWorkerDoesNotLeadUntilItIsResumed) {
  ASSERT_TRUE(ask(ControlKind::kPause));
  for (const char* id : {"b", "c"}) world.kill(node(id));
  world.run(2min);
  EXPECT_FALSE(node("a").leads());
  EXPECT_NE(world.body(world.keys.worker(WorkerId("a"))).find("paused"), std::string::npos);
  EXPECT_FALSE(ask(ControlKind::kResume, WorkerId("b")));
  ASSERT_TRUE(ask(ControlKind::kResume, WorkerId("a")));
  world.run(30s);
  EXPECT_TRUE(node("a").leads());
  EXPECT_EQ(world.body(world.keys.worker(WorkerId("a"))).find("paused"), std::string::npos);
}

TEST_P(CommandsTest, ACommandForAnotherTermIsNotObeyed) {
  EXPECT_FALSE(ask(ControlKind::kStepDown, {}, Epoch(7)));
  EXPECT_TRUE(node("a").leads());
  EXPECT_TRUE(ask(ControlKind::kStepDown));
}

TEST_P(CommandsTest, ASteppedDownWorkerThatIsAloneLeadsAgain) {
  for (const char* id : {"b", "c"}) world.kill(node(id));
  ASSERT_TRUE(ask(ControlKind::kStepDown));
  world.run(8s);  // R63: it was a lease and up to two heartbeats.
  EXPECT_TRUE(node("a").leads());
  EXPECT_EQ(node("a").coordinator->epoch(), Epoch(2));
}

// E10: while nothing is asked, nobody asks.
TEST_P(CommandsTest, AnIdleFleetReadsNoCommands) {
  std::uint64_t reads = 0;
  world.shared->on_get = [&](const Key& key) { reads += key == world.keys.control ? 1 : 0; };
  world.run(10min);
  EXPECT_EQ(reads, 0u);
}

INSTANTIATE_TEST_SUITE_P(Stores, CommandsTest, ::testing::Bool(), [](const auto& test) {
  return test.param ? "WithWatch" : "WithoutWatch";
});

}  // namespace commands_test
}  // namespace muster
