// Moves away from an engine that the servers run themselves: its majority is theirs.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/muster_program.h"
#include "tests/server/managed_scene.h"

namespace muster::testing {
namespace managed_move_test {

class ManagedMoveTest : public ManagedScene {
 protected:
  [[nodiscard]] std::string target() const { return "file://" + (dir_.path() / "moved").string(); }

  /// Three servers that hold so much that a copy takes a while.
  void found_and_fill() {
    found(3);
    ASSERT_TRUE(register_node(*servers_[1], node("n1")).ok());
    ASSERT_TRUE(writes(*servers_[1], "first"));
    Writer writer("w", all());
    EXPECT_TRUE(writer.more(100));
    keys_ = writer.finish();
    keys_.emplace_back("first");
  }
  Outcome move() {
    return run_muster(
        {"move", "--to", target(), "--server",
         servers_[0]->address() + "," + servers_[1]->address() + "," + servers_[2]->address()});
  }
  void expect_ended(const std::vector<Musterd*>& servers) {
    const std::string goodbye = "the log has moved to " + target() + "; start this server";
    for (Musterd* each : servers) {
      EXPECT_TRUE(eventually([&] { return each->log().find(goodbye) != std::string::npos; }, 40s))
          << each->id() << ":\n"
          << each->log();
      if (HasFailure()) return;
      EXPECT_EQ(each->wait(), 70) << each->id();
    }
  }
  void expect_everything_there() {
    Musterd there("s1", target(), dir_.path());
    expect_all({&there}, keys_);
    EXPECT_TRUE(find(topology(there), "n1"));
    EXPECT_TRUE(writes(there, "new"));
  }
  /// Begins a move and kills its leader right after the decision.
  Musterd* move_and_kill_leader() {
    Musterd* leader = leader_of(all());
    if (leader == nullptr) return nullptr;
    std::thread mover([&] { [[maybe_unused]] const Outcome cut_off = move(); });
    EXPECT_TRUE(eventually([&] { return leader->log().find("log sealed") != std::string::npos; }));
    leader->kill();
    mover.join();
    return leader;
  }

  std::vector<std::string> keys_;
};

// Anyone who left at the seal would take the engine's majority along, and nobody could read what is
// to be copied.
TEST_F(ManagedMoveTest, EveryServerStaysUntilEverythingIsThere) {
  found_and_fill();
  const Outcome moved = move();
  EXPECT_EQ(moved.code, 0) << moved.err;
  expect_ended(all());
  expect_everything_there();
}

TEST_F(ManagedMoveTest, TheOthersFinishForALeaderThatDied) {
  found_and_fill();
  Musterd* leader = move_and_kill_leader();
  ASSERT_NE(leader, nullptr);
  expect_ended(others({leader}));
  expect_everything_there();
}

TEST_F(ManagedMoveTest, ALeaderThatDiedAndIsStartedOnTheOldEngineFinishesToo) {
  found_and_fill();
  Musterd* leader = move_and_kill_leader();
  ASSERT_NE(leader, nullptr);
  leader->start_soon();
  expect_ended(all());
  expect_everything_there();
}

TEST_F(ManagedMoveTest, ServersThatAllDiedFinishWhenTheyAreStartedAgain) {
  found_and_fill();
  Musterd* leader = leader_of(all());
  ASSERT_NE(leader, nullptr);
  std::thread mover([&] { [[maybe_unused]] const Outcome cut_off = move(); });
  EXPECT_TRUE(eventually([&] { return leader->log().find("log sealed") != std::string::npos; }));
  for (Musterd* each : all()) each->kill();
  mover.join();
  for (Musterd* each : all()) each->start_soon();
  expect_ended(all());
  expect_everything_there();
}

}  // namespace managed_move_test
}  // namespace muster::testing
