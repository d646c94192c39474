#include "core/cluster/roll.h"

#include <gtest/gtest.h>

namespace muster::cluster {
namespace roll_test {

constexpr MonoTime kBegin = MonoTime() + 100s;

/// A state that s1 leads, with s2 and s3 in it.
class RollTest : public ::testing::Test {
 protected:
  RollTest() {
    for (const char* id : {"s1", "s2", "s3"}) {
      apply(AnnounceServer{id, std::string(id) + ":9000", "0.1.0", 1, {}});
    }
    reachability_.begin(kBegin);
  }
  void apply(const Command& command) {
    ASSERT_TRUE(state_.apply(encode(command), {++index_, 0, {}})->answer);
  }
  /// Writes down what there is to tell, and answers with it.
  std::vector<std::string> tell(MonoTime now) {
    std::vector<std::string> told;
    for (const Note& note : arrivals_and_departures(state_, reachability_, "s1", now)) {
      apply(note);
      told.push_back(sentence(*state_.decisions().last_about(note.subject)));
    }
    return told;
  }
  using Told = std::vector<std::string>;

  ClusterState state_;
  Reachability reachability_;
  std::uint64_t index_ = 0;
};

TEST_F(RollTest, EachIsToldOnceWhenItGoesAndWhenItIsBack) {
  reachability_.heard("s2", kBegin + 1s);
  EXPECT_EQ(tell(kBegin + 9s), Told{});
  EXPECT_EQ(tell(kBegin + 10s), Told{"server s3 is unreachable; not heard for 10s"});
  EXPECT_EQ(tell(kBegin + 10s), Told{});
  reachability_.heard("s2", kBegin + 10s);
  reachability_.heard("s3", kBegin + 12s);
  EXPECT_EQ(tell(kBegin + 12s), Told{"server s3 is reachable again"});
  EXPECT_EQ(tell(kBegin + 13s), Told{});
}

TEST_F(RollTest, TheNextLeaderDoesNotTellItAgain) {
  ASSERT_EQ(tell(kBegin + 10s).size(), 2U);
  reachability_.begin(kBegin + 20s);
  EXPECT_EQ(tell(kBegin + 1h), Told{});
}

TEST_F(RollTest, ANodeOfTheSameNameConfusesNobody) {
  ASSERT_EQ(tell(kBegin + 10s).size(), 2U);
  apply(Note{DecisionKind::kTransition, "s3", Why::kHeartbeat, {}, {}, {}});
  EXPECT_EQ(tell(kBegin + 11s), Told{});
}

}  // namespace roll_test
}  // namespace muster::cluster
