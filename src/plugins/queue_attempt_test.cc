// What spends an attempt at a message, and how long the mark of a finished one stays.

#include <gtest/gtest.h>

#include "base/log.h"
#include "plugins/queue_testing.h"

namespace muster {
namespace queue_attempt_test {

using testing::Fault;
using testing::QueueMember;
using testing::SharedWorld;

constexpr char kRoot[] = "plugin=queue/namespace=default/queue=default/";

Status succeed(QueueClaim&) {
  return Done{};
}

struct QueueAttemptTest : ::testing::Test {
  QueueAttemptTest() { set_log_sink({}); }
  std::size_t count(const std::string& part) { return world.count(kRoot + part); }
  void set_unreadable(QueueMember& member, const std::string& part) {
    world.thread.run([&] { member.process.scripted().unreadable = part; });
  }

  SharedWorld world;
  QueueMember leader{world, "leader", 1};
  QueueMember worker{world, "worker", 1};
};

// R09: three dead letters whose handler never ran.
TEST_F(QueueAttemptTest, AStoreThatCannotReadTheMessageSpendsNoAttempt) {
  ASSERT_TRUE(worker.plugin.enqueue("x"));
  set_unreadable(worker, "/messages/");
  for (int i = 0; i < 5; ++i) {
    leader.lead();
    EXPECT_TRUE(worker.plugin.claim().is(Errc::kUnavailable));
    leader.lead();  // Sees that it was given back.
    world.clock.advance(2s);
  }
  set_unreadable(worker, "");
  leader.lead();
  EXPECT_EQ(worker.claim().attempt(), 1u);
}

// A store that fails altogether takes no word of a claim given back, either.
TEST_F(QueueAttemptTest, AnOutageLongerThanTheClaimSpendsNoAttempt) {
  ASSERT_TRUE(worker.plugin.enqueue("x"));
  for (int i = 0; i < 5; ++i) {
    leader.lead();
    const std::uint64_t before = worker.process.calls();
    // The tickets are read and the claim is written; then nothing answers any more.
    worker.process.set_script([before](std::uint64_t call, bool writes) {
      return call > before && !writes ? Fault::kUnavailable : Fault::kNone;
    });
    EXPECT_FALSE(worker.plugin.claim());
    worker.process.set_script([](std::uint64_t, bool) { return Fault::kUnavailable; });
    world.clock.advance(40s);
    EXPECT_FALSE(worker.plugin.claim());
    worker.process.set_script({});
    leader.lead();
    EXPECT_TRUE(worker.finds_none());  // And gives back what it had not run.
    leader.lead();
    world.clock.advance(2s);
  }
  leader.lead();
  EXPECT_EQ(worker.claim().attempt(), 1u);
  EXPECT_EQ(worker.plugin.dead_letters()->size(), 0u);
}

TEST_F(QueueAttemptTest, AClaimThatLandsAfterItWasGivenUpSpendsNoAttempt) {
  ASSERT_TRUE(worker.plugin.enqueue("x"));
  leader.lead();
  worker.process.set_script(
      [](std::uint64_t, bool writes) { return writes ? Fault::kLate : Fault::kNone; });
  EXPECT_TRUE(worker.plugin.claim().is(Errc::kAmbiguous));
  worker.process.set_script({});
  worker.process.land_late();
  EXPECT_TRUE(worker.finds_none());
  leader.lead();
  world.clock.advance(2s);
  leader.lead();
  EXPECT_EQ(worker.claim().attempt(), 1u);
}

TEST_F(QueueAttemptTest, ARunThatFailedAndAClaimantThatDiedSpendOneEach) {
  ASSERT_TRUE(worker.plugin.enqueue("x"));
  leader.lead();
  ASSERT_TRUE(*worker.plugin.run_one([](QueueClaim&) -> Status {
    return {Errc::kInvalid, "planted"};
  }));
  leader.lead();
  world.clock.advance(2s);
  leader.lead();
  {
    QueueMember dying(world, "dying", 1);
    EXPECT_EQ(dying.claim().attempt(), 2u);
  }
  leader.lead();
  world.clock.advance(31s);
  leader.lead();
  EXPECT_EQ(worker.claim().attempt(), 3u);
}

// Faults of every kind, and nobody dies: with handlers that succeed there is no dead letter.
TEST_F(QueueAttemptTest, UnderRandomFaultsNoMessageDiesUnrun) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SharedWorld shared;
    Random random(seed);
    QueueMember chief(shared, "chief", 1);
    QueueMember hand(shared, "hand", 1);
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(hand.plugin.enqueue("x"));
    hand.process.set_script([&random](std::uint64_t, bool) {
      const auto pick = random.below(12);
      return pick < 7 ? static_cast<Fault>(pick) : Fault::kNone;
    });
    std::set<std::string> ran;
    for (int round = 0; round < 40; ++round) {
      chief.lead();
      for (int i = 0; i < 4; ++i) {
        (void)hand.plugin
            .run_one([&](QueueClaim& claim) -> Status {
              ran.insert(claim.id());
              return Done{};
            })
            .ok();
      }
      shared.clock.advance(2s);
      if (round % 3 == 0) hand.process.land_late();
    }
    hand.process.set_script({});
    hand.process.land_late();
    for (int round = 0; round < 6; ++round) {
      chief.lead();
      while (*hand.plugin.run_one([&](QueueClaim& claim) -> Status {
        ran.insert(claim.id());
        return Done{};
      })) {
      }
      shared.clock.advance(31s);
    }
    const auto letters = hand.plugin.dead_letters();
    for (const auto& letter : *letters) {
      EXPECT_TRUE(ran.contains(letter.message.id)) << "dead and never run: " << letter.reason;
    }
  }
}

// R46: the mark that the leader makes is as old as the mark, not as the claim that ran out.
TEST_F(QueueAttemptTest, TheMarkOfAClaimThatTheLeaderEndedStaysAsLongAsAnyOther) {
  QueueOptions once;
  once.attempts_max = 1;
  QueueMember chief(world, "chief", 1, once);
  ASSERT_TRUE(worker.plugin.enqueue("x", "poison"));
  chief.lead();
  {
    QueueMember dying(world, "dying", 1, once);
    EXPECT_EQ(dying.claim().id(), "poison");
  }
  chief.lead();
  world.clock.advance(31s);
  chief.lead();  // The claim has expired: dead.
  chief.lead();
  EXPECT_EQ(worker.plugin.dead_letters()->size(), 1u);
  EXPECT_EQ(count("messages/"), 0u);
  world.clock.advance(50s);
  chief.lead();
  ASSERT_EQ(count("claims/"), 1u) << "a late copy of the message would run";
  // Such a copy comes now.
  ASSERT_TRUE(worker.process.store().put(
      std::string(kRoot) + "messages/poison",
      encode(queue::Message{"poison", "x", world.clock.wall_now()}, "nonce"),
      Precondition::absent()));
  chief.lead();
  EXPECT_FALSE(*worker.plugin.run_one(succeed));
  EXPECT_EQ(count("messages/"), 0u);
  world.clock.advance(10s);
  chief.lead();
  EXPECT_EQ(count("claims/"), 0u);
}

}  // namespace queue_attempt_test
}  // namespace muster
