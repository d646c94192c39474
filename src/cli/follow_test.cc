#include "cli/follow.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/progress.h"
#include "cli/topology_screen.h"
#include "platform/signals.h"

namespace muster::cli {
namespace follow_test {

TEST(FollowTest, AFrameIsDrawnOverTheOneBeforeAndCutToTheWindow) {
  EXPECT_EQ(frame("a\nb\n", {24}), "\033[Ha\033[K\nb\033[K\033[J");
  EXPECT_EQ(frame("a\nb\nc\nd\n", {3}), "\033[Ha\033[K\nb\033[K\n… and 2 lines more\033[K\033[J");
  EXPECT_EQ(frame("a\nb\nc\n", {3}), "\033[Ha\033[K\nb\033[K\nc\033[K\033[J");
}

TEST(FollowTest, AFirstLookThatFailsIsTheAnswer) {
  std::ostringstream out;
  Terminal terminal{out, out};
  StopSignals signals;
  const auto code = follow(terminal, signals, false,
                           [] { return Result<Look>(Errc::kUnavailable, "nobody there"); });
  EXPECT_TRUE(code.is(Errc::kUnavailable));
  EXPECT_EQ(out.str(), "");
}

TEST(FollowTest, ALineIsPrintedOnceForEachChangeAndTroubleIsToldOnce) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{out, err};
  StopSignals signals;
  int looks = 0;
  const auto code = follow(
      terminal, signals, false,
      [&]() -> Result<Look> {
        switch (++looks) {
          case 1:
            return Look{"", "first", "1"};
          case 2:
            return {Errc::kUnavailable, "gone"};
          default:
            signals.request();
            return Look{"", "first, older", "1"};
        }
      },
      1ms);
  EXPECT_EQ(*code, 0);
  EXPECT_EQ(out.str(), "first\n");
  EXPECT_EQ(err.str(), "muster: gone\n");
}

TEST(TopologyScreenTest, ShowsLeaderEpochAndHowEachNodeStands) {
  std::ostringstream out;
  const Terminal terminal{out, out};
  Sight sight;
  sight.health.leader_id = "s1";
  sight.health.leader_address = "127.0.0.1:9000";
  sight.health.epoch = Epoch(7);
  sight.topology.version = TopologyVersion(12);
  client::Node node;
  node.id = NodeId("o1");
  node.address = "10.0.0.1";
  node.port = 7000;
  node.type = client::NodeType::kObject;
  node.state = client::NodeState::kSuspect;
  node.suspect_count = 3;
  const WallTime now = wall_from_ms(1'900'000'000'000);
  // Times are labels; that one is ten years off changes no age.
  node.state_since = now + 24h * 3652;
  node.state_age = 61s;
  node.heartbeat_age = 106s;
  sight.topology.nodes = {node};
  EXPECT_EQ(topology_screen(terminal, sight, {node}, now),
            "2030-03-17T17:46:40.000Z  s1 leads at 127.0.0.1:9000, epoch 7\n"
            "version 12: 0 active, 1 suspect, 0 down, 0 joining, 0 draining, 16 virtual nodes, "
            "replication 3\n\n"
            "ID  SERVICE  STATE    FOR  HEARTBEAT  FLAPS  ADDRESS\n"
            "o1  object   SUSPECT  61s  106s ago   3      10.0.0.1:7000\n");
}

TEST(ProgressTest, TellsSomebodyWhoWaitsAndNobodyElse) {
  std::ostringstream quick;
  Terminal terminal{quick, quick};
  { const Progress progress(terminal, "muster health", 1h); }
  EXPECT_EQ(quick.str(), "");
}

}  // namespace follow_test
}  // namespace muster::cli
