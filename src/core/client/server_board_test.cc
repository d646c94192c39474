#include "core/client/server_board.h"

#include <gtest/gtest.h>

namespace muster::client {
namespace server_board_test {

using Servers = std::vector<std::string>;

TEST(ServerBoardTest, StaysWithWhoAnswersAndMovesOnAfterAFailure) {
  ServerBoard board({"a", "b", "c"}, 1);
  EXPECT_EQ(board.choose(Aim::kAny, {}), "b");
  board.failed("b");
  EXPECT_EQ(board.choose(Aim::kAny, {}), "c");
  board.answered("a");
  EXPECT_EQ(board.choose(Aim::kAny, {}), "a");
}

TEST(ServerBoardTest, ASecondAttemptAsksSomebodyElse) {
  ServerBoard board({"a", "b", "c"}, 0);
  EXPECT_EQ(board.choose(Aim::kAny, {"a"}), "b");
  EXPECT_EQ(board.choose(Aim::kAny, {"b", "a"}), "c");
  EXPECT_EQ(board.choose(Aim::kAny, {"b", "a", "c"}), "b");
  EXPECT_EQ(board.choose(Aim::kAny, {"b", "a", "c", "b"}), "a");
}

TEST(ServerBoardTest, TheLeaderIsAskedFirstWhereItMatters) {
  ServerBoard board({"a", "b"}, 0);
  board.learned_leader("elsewhere:9000");
  EXPECT_EQ(board.choose(Aim::kLeader, {}), "elsewhere:9000");
  EXPECT_EQ(board.choose(Aim::kAny, {}), "a");
  EXPECT_EQ(board.choose(Aim::kLeader, {"elsewhere:9000"}), "a");
}

TEST(ServerBoardTest, AHintIsDroppedAfterTwoFailuresInARow) {
  ServerBoard board({"a", "b"}, 0);
  board.learned_leader("b");
  board.failed("b");
  board.answered("b");
  board.failed("b");
  EXPECT_EQ(board.leader(), "b");
  board.failed("b");
  EXPECT_FALSE(board.leader());
}

TEST(ServerBoardTest, AnotherHintBeginsWithoutFailures) {
  ServerBoard board({"a", "b"}, 0);
  board.learned_leader("a");
  board.failed("a");
  board.learned_leader("b");
  board.failed("b");
  EXPECT_EQ(board.leader(), "b");
  board.learned_leader("");
  EXPECT_EQ(board.leader(), "b");
}

TEST(ServerBoardTest, OneServerIsAskedAgainAndAgain) {
  const ServerBoard board({"a"}, 5);
  EXPECT_EQ(board.choose(Aim::kLeader, Servers(4, "a")), "a");
}

}  // namespace server_board_test
}  // namespace muster::client
