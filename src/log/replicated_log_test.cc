#include "log/replicated_log.h"

#include <gmock/gmock.h>

#include "log/keys.h"
#include "log/log_test_world.h"

namespace muster::rlog {
namespace replicated_log_test {

using ::testing::ElementsAre;

class ReplicatedLogTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  LogWorld world_{GetParam()};
  Keys keys_;
};

TEST_P(ReplicatedLogTest, AcknowledgesWhatEveryReplicaThenApplies) {
  const auto leader = world_.leader(1);
  const auto follower = world_.opened();
  const auto ack = world_.append(*leader, "a");
  ASSERT_TRUE(ack.ok());
  EXPECT_EQ(ack->index, Index(2));  // Entry 1 is the barrier.
  ASSERT_TRUE(world_.append(*leader, "b").ok());
  EXPECT_THAT(leader->machine.commands, ElementsAre("a", "b"));
  world_.run(2s);
  EXPECT_THAT(follower->machine.commands, ElementsAre("a", "b"));
  EXPECT_EQ(follower->log->position(), leader->log->position());
}

TEST_P(ReplicatedLogTest, PutsEverythingThatWaitsIntoOneEntry) {
  const auto leader = world_.leader(1);
  std::vector<Ack> acks;
  for (int i = 0; i < 100; ++i) {
    leader->log->append("c" + std::to_string(i), [&](Result<Ack> ack) { acks.push_back(*ack); });
  }
  world_.run(1s);
  ASSERT_EQ(acks.size(), 100U);
  EXPECT_EQ(acks.front().index, acks.back().index);
  EXPECT_EQ(acks[42].position, 42U);
  EXPECT_EQ(leader->machine.commands[42], "c42");
}

TEST_P(ReplicatedLogTest, KeepsAnEntryWithinItsLimit) {
  Options options;
  options.entry_bytes_max = 8 * 1024;
  const auto leader = world_.leader(1, options);
  std::vector<Ack> acks;
  for (int i = 0; i < 10; ++i) {
    leader->log->append(std::string(1000, 'x'), [&](Result<Ack> ack) { acks.push_back(*ack); });
  }
  world_.run(1s);
  ASSERT_EQ(acks.size(), 10U);
  EXPECT_GT(acks.back().index, acks.front().index);
  for (const auto& [key, entry] : world_.objects->entries()) {
    EXPECT_LE(entry.body.size(), options.entry_bytes_max) << key;
  }
  EXPECT_TRUE(world_.append(*leader, std::string(8 * 1024, 'x')).is(Errc::kInvalid));
}

TEST_P(ReplicatedLogTest, RefusesWhatNobodyLeads) {
  const auto follower = world_.opened();
  EXPECT_TRUE(world_.append(*follower, "a").is(Errc::kUnavailable));
}

TEST_P(ReplicatedLogTest, RefusesMoreThanMayWait) {
  Options options;
  options.waiting_bytes_max = 10;
  const auto leader = world_.leader(1, options);
  leader->log->append("12345678", [](const Result<Ack>& ack) { EXPECT_TRUE(ack.ok()); });
  EXPECT_TRUE(world_.append(*leader, "90x").is(Errc::kThrottled));
}

TEST_P(ReplicatedLogTest, DeposesALeaderWhoseNumberIsTaken) {
  const auto old = world_.leader(1);
  const auto young = world_.opened();
  ASSERT_TRUE(world_.lead(*young, 2).ok());
  // Sent before the old leader could have heard of the new one.
  const auto ack = world_.append(*old, "late");
  EXPECT_TRUE(ack.is(Errc::kConflict) || ack.is(Errc::kUnavailable));
  world_.run(2s);
  EXPECT_FALSE(old->log->leads());
  ASSERT_TRUE(old->last<Deposed>().has_value());
  EXPECT_EQ(old->last<Deposed>()->ended, Epoch(1));
  EXPECT_EQ(old->last<Deposed>()->by, Epoch(2));
  ASSERT_TRUE(world_.append(*young, "new").ok());
  world_.run(2s);
  EXPECT_THAT(old->machine.commands, ElementsAre("new"));
}

TEST_P(ReplicatedLogTest, RefusesAnEpochThatTheLogHasPassed) {
  const auto young = world_.leader(5);
  const auto old = world_.opened();
  EXPECT_TRUE(world_.lead(*old, 4).is(Errc::kConflict));
  EXPECT_TRUE(world_.lead(*old, 5, "another run").is(Errc::kConflict));
}

TEST_P(ReplicatedLogTest, ABarrierThatWasGivenUpMayBeInAllTheSame) {
  const auto replica = world_.opened();
  world_.refuse_puts(keys_.log());
  EXPECT_TRUE(world_.lead(*replica, 1).is(Errc::kAmbiguous));
}

TEST_P(ReplicatedLogTest, RetiresAfterWhatIsInFlight) {
  const auto leader = world_.leader(1);
  bool acknowledged = false;
  leader->log->append("a", [&](const Result<Ack>& ack) { acknowledged = ack.ok(); });
  leader->loop.post([&] {
    leader->log->retire([&](const Status&) { EXPECT_TRUE(acknowledged); });
    leader->log->append("b",
                        [](const Result<Ack>& ack) { EXPECT_TRUE(ack.is(Errc::kUnavailable)); });
  });
  world_.run(1s);
  EXPECT_TRUE(acknowledged);
  EXPECT_FALSE(leader->log->leads());
  ASSERT_TRUE(world_.lead(*leader, 2).ok());
}

TEST_P(ReplicatedLogTest, ASealThatWasNotSentEndsWithItsTerm) {
  const auto leader = world_.leader(1);
  leader->log->append("a", [](const Result<Ack>& ack) { EXPECT_TRUE(ack.ok()); });
  std::optional<Result<Index>> sealed;
  leader->loop.post([&] {  // The entry with the command is in flight.
    leader->log->seal({"move", "elsewhere"},
                      [&](Result<Index> index) { sealed.emplace(std::move(index)); });
    leader->log->retire([](const Status&) {});
  });
  world_.run(1s);
  ASSERT_TRUE(sealed.has_value());
  EXPECT_TRUE(sealed->is(Errc::kUnavailable));
  ASSERT_TRUE(world_.lead(*leader, 2).ok());
  EXPECT_TRUE(world_.append(*leader, "b").ok());
  world_.run(1s);
  EXPECT_TRUE(leader->log->leads());
}

// P25: a follower answers a linearizable read only with everything acknowledged before it.
TEST_P(ReplicatedLogTest, ReadsLinearizablyOnAFollower) {
  const auto leader = world_.leader(1);
  const auto follower = world_.opened();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(world_.append(*leader, std::to_string(i)).ok());
  const auto index = world_.barrier(*follower);
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(*index, leader->log->applied());
  EXPECT_EQ(follower->machine.commands.size(), 20U);
}

// What is acknowledged after a seal is acknowledged in another store, which nobody here can see.
TEST_P(ReplicatedLogTest, ASealedLogAnswersNoLinearizableRead) {
  const auto leader = world_.leader(1);
  const auto follower = world_.opened();
  const auto late = world_.opened();
  late->loop.pause(world_.world.now() + 5s);
  ASSERT_TRUE(world_.seal(*leader, {"move", "elsewhere"}).ok());
  EXPECT_TRUE(world_.barrier(*leader).is(Errc::kUnavailable));
  const auto read = world_.barrier(*follower);
  ASSERT_TRUE(read.is(Errc::kUnavailable));
  EXPECT_EQ(read.error().message, "the log has moved to elsewhere");
  // This one reads the seal in the very check that the reader waits for.
  EXPECT_TRUE(world_.barrier(*late).is(Errc::kUnavailable));
}

TEST_P(ReplicatedLogTest, OneCheckServesAllWhoWait) {
  const auto leader = world_.leader(1);
  int answered = 0;
  for (int i = 0; i < 1000; ++i) {
    leader->log->read_barrier([&](const Result<Index>& index) {
      answered += index.ok() ? 1 : 0;
      // A memory store takes no time; one that came after the check began waits for the next.
      if (answered == 1) {
        leader->log->read_barrier([&](const Result<Index>&) { EXPECT_EQ(answered, 1000); });
      }
    });
  }
  world_.run(100ms);
  EXPECT_EQ(answered, 1000);
}

// L8, and R25: +10 years once made flap windows endless.
TEST_P(ReplicatedLogTest, LogTimeCountsWhileSomebodyLeadsAndWallClocksOnlyLabelIt) {
  constexpr Duration kTenYears = 24h * 3652;
  const auto first = world_.leader(1);
  ASSERT_TRUE(world_.append(*first, "a").ok());
  world_.run(20s);
  first->loop.jump_wall_clock(kTenYears);
  ASSERT_TRUE(world_.append(*first, "b").ok());
  const auto second = world_.opened();
  second->loop.jump_wall_clock(-kTenYears);
  world_.run(1h);
  ASSERT_TRUE(world_.lead(*second, 2).ok());
  ASSERT_TRUE(world_.append(*second, "c").ok());
  const std::vector<LogTime>& times = second->machine.times;
  ASSERT_EQ(times.size(), 5U);  // Two of them are barriers.
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_GE(times[2] - times[1], 20s);
  EXPECT_LT(times.back() - times.front(), 30s);
  const std::vector<WallTime>& labels = second->machine.labels;
  EXPECT_GT(labels[2] - labels[1], kTenYears - 1h);
  EXPECT_LT(labels[3] - labels[2], -2 * kTenYears + 2h);
}

TEST_P(ReplicatedLogTest, StopsAtACommandItDoesNotKnow) {
  const auto leader = world_.leader(1);
  const auto follower = world_.opened();
  (void)world_.append(*leader, "unknown");
  world_.run(2s);
  ASSERT_TRUE(follower->last<Stopped>().has_value());
  EXPECT_EQ(follower->last<Stopped>()->reason.code, Errc::kUnsupported);
}

Options of_cluster(const std::string& name, const std::string& log_id = "") {
  Options options;
  options.cluster = name;
  options.log_id = log_id;
  return options;
}

TEST_P(ReplicatedLogTest, TwoClustersDoNotShareALog) {
  const auto leader = world_.leader(1, of_cluster("red"));
  ASSERT_TRUE(world_.append(*leader, "a").ok());
  ASSERT_TRUE(world_.compact(*leader).ok());
  (void)world_.opened(of_cluster("red"));
  for (const char* other : {"blue", ""}) {
    const auto stranger = world_.replica(of_cluster(other));
    const Status refused = world_.open(*stranger);
    ASSERT_TRUE(refused.is(Errc::kDenied)) << other;
    EXPECT_NE(refused.error().message.find("the log of cluster red"), std::string::npos);
  }
  (void)world_.opened();  // A tool, which belongs to no cluster.
}

TEST_P(ReplicatedLogTest, ALogGetsItsNameFromAReplicaThatKnowsItOnly) {
  const auto leader = world_.leader(1, of_cluster(""));
  ASSERT_TRUE(world_.append(*leader, "a").ok());
  const auto stranger = world_.replica(of_cluster("red"));
  EXPECT_TRUE(world_.open(*stranger).is(Errc::kDenied));
  (void)world_.opened(of_cluster("red", leader->log->log_id()));
  (void)world_.opened(of_cluster("red"));
  // Anyone who leads at that moment goes on; it is asked for the name when it starts again.
  EXPECT_TRUE(world_.append(*leader, "b").ok());
  const auto old = world_.replica(of_cluster("", leader->log->log_id()));
  EXPECT_TRUE(world_.open(*old).is(Errc::kDenied));
}

TEST_P(ReplicatedLogTest, TheStoreOwesAnAnswerOnlyWhileItWasAsked) {
  const auto leader = world_.leader(1);
  world_.run(1h);
  EXPECT_FALSE(leader->log->unanswered_since().has_value());
  EXPECT_GT(leader->loop.now() - leader->log->last_contact(), 0s);
}

INSTANTIATE_TEST_SUITE_P(Stores, ReplicatedLogTest, kAllStores, name_of);

}  // namespace replicated_log_test
}  // namespace muster::rlog
