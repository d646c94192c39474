#include "plugins/queue.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "base/log.h"
#include "plugins/queue_testing.h"

namespace muster {
namespace queue_test {

using testing::Fault;
using testing::QueueMember;
using testing::SharedWorld;

constexpr char kRoot[] = "plugin=queue/namespace=default/queue=default/";

struct QueueTest : ::testing::Test {
  QueueTest() { set_log_sink({}); }
  std::size_t count(const std::string& part) { return world.count(kRoot + part); }

  SharedWorld world;
  QueueMember leader{world, "leader", 1};
  QueueMember a{world, "a", 1};
  QueueMember b{world, "b", 1};
};

TEST_F(QueueTest, AMessageIsDispatchedClaimedAcknowledgedAndSwept) {
  const auto id = a.plugin.enqueue("hello");
  ASSERT_TRUE(id);
  EXPECT_TRUE(b.finds_none());
  leader.lead();
  QueueClaim claim = b.claim();
  EXPECT_EQ(claim.id(), *id);
  EXPECT_EQ(claim.payload(), "hello");
  EXPECT_EQ(claim.attempt(), 1u);
  EXPECT_TRUE(claim.guard().valid());
  EXPECT_EQ(claim.guard().epoch(), Epoch(1));
  EXPECT_TRUE(a.finds_none());
  EXPECT_TRUE(b.plugin.acknowledge(claim));
  EXPECT_FALSE(claim.guard().valid());
  leader.lead();
  EXPECT_EQ(count("messages/"), 0u);
  EXPECT_EQ(count("claims/"), 1u);
  world.clock.advance(1min);
  leader.lead();
  EXPECT_EQ(count("claims/"), 0u);
  EXPECT_TRUE(a.finds_none());
}

TEST_F(QueueTest, EveryMessageIsClaimedOnceByManyWorkers) {
  std::set<std::string> sent;
  for (int i = 0; i < 60; ++i) sent.insert(*a.plugin.enqueue("work"));
  leader.lead();
  Mutex mutex;
  std::multiset<std::string> ran;
  std::vector<std::thread> workers;
  for (QueueMember* member : {&a, &a, &b, &b}) {
    workers.emplace_back([&, member] {
      const auto work = [&](QueueClaim& claim) -> Status {
        MutexLock lock(mutex);
        ran.insert(claim.id());
        return Done{};
      };
      while (*member->plugin.run_one(work)) {
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(ran, std::multiset<std::string>(sent.begin(), sent.end()));
}

// S08: tickets carry the epoch, and anyone who takes one checks it.
TEST_F(QueueTest, TicketsOfAReplacedLeaderAreNotTaken) {
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.lead();
  b.plugin.learn_epoch(Epoch(2));
  EXPECT_TRUE(b.finds_none());
  EXPECT_EQ(b.plugin.epoch_drift_events(), 1u);
  QueueMember successor(world, "successor", 2);
  successor.lead();
  EXPECT_EQ(b.claim().guard().epoch(), Epoch(2));
}

TEST_F(QueueTest, AReplacedLeaderPublishesNothing) {
  QueueMember successor(world, "successor", 2);
  ASSERT_TRUE(a.plugin.enqueue("x"));
  successor.lead();
  QueueClaim claim = b.claim();
  ASSERT_TRUE(b.plugin.fail(claim, "again"));
  leader.lead();
  world.clock.advance(2s);
  leader.lead();
  EXPECT_TRUE(a.finds_none());
  const auto board =
      queue::decode_board(a.process.store().get(queue::Keys("default", "default").dispatch)->body);
  EXPECT_EQ(board->epoch, Epoch(2));
  EXPECT_GE(leader.plugin.epoch_drift_events(), 1u);
}

TEST_F(QueueTest, AClosedGuardDispatchesNothing) {
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.guard.close();
  leader.lead();
  EXPECT_TRUE(b.finds_none());
}

// S10: expiry is what the leader saw itself, a full timeout after it first saw the claim.
TEST_F(QueueTest, AClaimOfADeadWorkerRunsOutAndIsTakenOver) {
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.lead();
  QueueClaim lost = a.claim();
  world.clock.advance(10s);
  leader.lead();  // Sees the claim for the first time.
  world.clock.advance(29s);
  leader.lead();
  EXPECT_TRUE(b.finds_none());
  EXPECT_FALSE(lost.guard().valid());
  world.clock.advance(1s);
  leader.lead();
  QueueClaim claim = b.claim();
  EXPECT_EQ(claim.attempt(), 2u);
  EXPECT_TRUE(a.plugin.acknowledge(lost).is(Errc::kConflict));
  EXPECT_TRUE(a.plugin.extend(lost).is(Errc::kConflict));
  EXPECT_TRUE(b.plugin.acknowledge(claim));
}

TEST_F(QueueTest, TheHolderStopsBeforeAnybodyElseMayBegin) {
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.lead();
  const QueueClaim claim = a.claim();
  world.clock.advance(25'199ms);
  EXPECT_TRUE(claim.guard().valid());
  world.clock.advance(1ms);
  EXPECT_FALSE(claim.guard().valid());
}

TEST_F(QueueTest, AnExtendedClaimStays) {
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.lead();
  QueueClaim claim = a.claim();
  for (int i = 0; i < 10; ++i) {
    world.clock.advance(20s);
    ASSERT_TRUE(a.plugin.extend(claim));
    leader.lead();
    EXPECT_TRUE(claim.guard().valid());
    EXPECT_TRUE(b.finds_none());
  }
  EXPECT_TRUE(a.plugin.acknowledge(claim));
}

TEST_F(QueueTest, AnExtensionAfterTheDeadlineDoesNotReviveTheClaim) {
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.lead();
  QueueClaim claim = a.claim();
  world.clock.advance(26s);
  EXPECT_TRUE(a.plugin.extend(claim).is(Errc::kConflict));
  EXPECT_FALSE(claim.guard().valid());
}

TEST_F(QueueTest, AnExtensionThatWasGivenUpAndLandedDoesNotLoseTheClaim) {
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.lead();
  QueueClaim claim = a.claim();
  a.process.set_script(
      [](std::uint64_t, bool writes) { return writes ? Fault::kLate : Fault::kNone; });
  EXPECT_TRUE(a.plugin.extend(claim).is(Errc::kAmbiguous));
  a.process.land_late();
  a.process.set_script({});
  EXPECT_TRUE(a.plugin.acknowledge(claim));
  EXPECT_TRUE(a.plugin.acknowledge(claim));
}

TEST_F(QueueTest, FailuresAreTriedAgainAfterAPauseAndThenLaidWithTheDead) {
  const auto id = *a.plugin.enqueue("bad");
  const auto fails = [](QueueClaim& claim) -> Status {
    if (claim.attempt() == 2) throw std::runtime_error("twice");
    return {Errc::kInvalid, "cannot parse"};
  };
  for (const Duration pause : {1s, 2s, 0s}) {
    leader.lead();
    ASSERT_TRUE(*a.plugin.run_one(fails));
    leader.lead();
    if (pause > 0s) {
      world.clock.advance(pause - 1ms);
      leader.lead();
      EXPECT_TRUE(a.finds_none());
      world.clock.advance(1ms);
    }
  }
  leader.lead();
  leader.lead();
  EXPECT_TRUE(a.finds_none());
  EXPECT_EQ(count("messages/"), 0u);
  const auto letters = a.plugin.dead_letters();
  ASSERT_TRUE(letters);
  ASSERT_EQ(letters->size(), 1u);
  EXPECT_EQ(letters->front().message.id, id);
  EXPECT_EQ(letters->front().message.payload, "bad");
  EXPECT_EQ(letters->front().attempts, 3u);
  EXPECT_EQ(letters->front().reason, "cannot parse");
}

TEST_F(QueueTest, AMessageThatKillsItsWorkersIsLaidWithTheDead) {
  ASSERT_TRUE(a.plugin.enqueue("poison"));
  for (int i = 0; i < 3; ++i) {
    leader.lead();
    (void)a.claim();
    leader.lead();
    world.clock.advance(30s);
  }
  leader.lead();
  leader.lead();
  ASSERT_EQ(a.plugin.dead_letters()->size(), 1u);
  EXPECT_EQ(a.plugin.dead_letters()->front().reason, "the claim of a ran out");
  EXPECT_EQ(count("messages/"), 0u);
}

TEST_F(QueueTest, TwoMessagesThatHadTheSameIdBothLieWithTheDead) {
  QueueOptions once;
  once.attempts_max = 1;
  QueueMember strict(world, "strict", 1, once);
  const auto fails = [](QueueClaim&) { return Status(Errc::kInvalid, std::string(5000, 'x')); };
  for (const char* payload : {"A", "B"}) {
    ASSERT_TRUE(a.plugin.enqueue(payload, "job"));
    strict.lead();
    ASSERT_TRUE(*a.plugin.run_one(fails));
    strict.lead();
    strict.lead();
    world.clock.advance(1min);
    strict.lead();
    EXPECT_EQ(count("messages/") + count("claims/"), 0u);
  }
  const auto letters = a.plugin.dead_letters();
  ASSERT_TRUE(letters);
  ASSERT_EQ(letters->size(), 2u);
  EXPECT_EQ((*letters)[0].message.payload, "A");
  EXPECT_EQ((*letters)[1].message.payload, "B");
  EXPECT_EQ((*letters)[1].reason.size(), queue::kReasonBytesMax);
  for (const queue::DeadLetter& letter : *letters) EXPECT_TRUE(a.plugin.discard(letter));
  EXPECT_TRUE(a.plugin.discard(letters->front())) << "gone already";
  EXPECT_EQ(count("dead/"), 0u);
}

TEST_F(QueueTest, OneThatCannotBeSettledHoldsUpNobodyElse) {
  QueueOptions once;
  once.attempts_max = 1;
  QueueMember strict(world, "strict", 1, once);
  world.thread.run([&] { strict.process.scripted().refused = "dead/1-stuck"; });
  const auto fails = [](QueueClaim&) { return Status(Errc::kInvalid, "no"); };
  ASSERT_TRUE(a.plugin.enqueue("x", "1-stuck"));
  ASSERT_TRUE(a.plugin.enqueue("x", "2-dies"));
  strict.lead();
  ASSERT_TRUE(*a.plugin.run_one(fails));
  ASSERT_TRUE(*a.plugin.run_one(fails));
  ASSERT_TRUE(a.plugin.enqueue("x", "3-waits"));
  strict.lead();
  strict.lead();
  EXPECT_EQ(a.plugin.dead_letters()->size(), 1u);
  EXPECT_EQ(a.claim().id(), "3-waits");
  EXPECT_EQ(count("messages/1-stuck"), 1u) << "nothing is lost";
}

TEST(QueueRecordsTest, ADeadLetterFitsWhereItsMessageDid) {
  for (const std::size_t size : {1u, 100'000u, 131'000u, 200'000u}) {
    for (const char* piece : {"a", "\x01"}) {
      queue::Message message{"id", {}, wall_from_ms(1'700'000'000'000)};
      while (message.payload.size() < size) message.payload += piece;
      const queue::DeadLetter letter{
          message, 1000, std::string(100'000, '\x01'), wall_from_ms(1'700'000'000'000), {}};
      const std::size_t narrowest = 256 * 1024;
      const std::size_t room = std::max(encode(message, "n").size(), narrowest);
      EXPECT_LE(encode(letter, "n").size(), room) << size;
    }
  }
}

TEST_F(QueueTest, TheSameIdIsEnqueuedOnce) {
  ASSERT_TRUE(a.plugin.enqueue("x", "job-1"));
  EXPECT_TRUE(b.plugin.enqueue("x", "job-1"));
  EXPECT_TRUE(b.plugin.enqueue("y", "job-1").is(Errc::kConflict));
  EXPECT_EQ(count("messages/"), 1u);
  leader.lead();
  QueueClaim claim = a.claim();
  ASSERT_TRUE(a.plugin.acknowledge(claim));
  leader.lead();
  // Enqueued again by a producer in doubt, after it ran: it does not run again.
  EXPECT_TRUE(b.plugin.enqueue("x", "job-1"));
  leader.lead();
  EXPECT_TRUE(a.finds_none());
  EXPECT_EQ(count("messages/"), 0u);
}

TEST_F(QueueTest, BadIdsAndPayloadsAreRefused) {
  EXPECT_TRUE(a.plugin.enqueue("x", "a/b").is(Errc::kInvalid));
  EXPECT_TRUE(a.plugin.enqueue("\xff").is(Errc::kInvalid));
}

// P01, P21: what the network sends twice runs once, even when it comes after the work was done.
TEST_F(QueueTest, ACopyOfAMessageThatComesAfterTheWorkDoesNotRun) {
  a.process.set_script(
      [](std::uint64_t call, bool) { return call == 0 ? Fault::kLate : Fault::kNone; });
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.lead();
  QueueClaim claim = b.claim();
  ASSERT_TRUE(b.plugin.acknowledge(claim));
  leader.lead();
  a.process.land_late();
  ASSERT_EQ(count("messages/"), 1u);
  leader.lead();
  EXPECT_TRUE(b.finds_none());
  EXPECT_EQ(count("messages/"), 0u);
}

// S11, S17: nothing that may be rewritten is removed; works without conditional removal, too.
TEST_F(QueueTest, SweepsOnStoresThatCannotRemoveConditionally) {
  world.thread.run([&] { leader.process.scripted().conditional_remove = false; });
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.lead();
  QueueClaim claim = a.claim();
  ASSERT_TRUE(a.plugin.acknowledge(claim));
  leader.lead();
  world.clock.advance(1min);
  leader.lead();
  EXPECT_EQ(count("claims/"), 0u);
}

TEST_F(QueueTest, AnOldTicketOfASweptMessageRunsNothing) {
  ASSERT_TRUE(a.plugin.enqueue("x"));
  leader.lead();
  QueueClaim claim = a.claim();
  ASSERT_TRUE(a.plugin.acknowledge(claim));
  QueueMember sweeper(world, "sweeper", 1);
  // A round that ends before it publishes leaves the old ticket on the board.
  const auto without_board = [](std::uint64_t call, bool) {
    return call > 3 ? Fault::kDead : Fault::kNone;
  };
  sweeper.process.set_script(without_board);
  sweeper.lead();
  ASSERT_EQ(count("messages/"), 0u);
  ASSERT_TRUE(a.process.store().remove(kRoot + ("claims/" + claim.id())));
  EXPECT_TRUE(b.finds_none());
  EXPECT_EQ(count("claims/"), 1u);
  leader.lead();
  world.clock.advance(1min);
  leader.lead();
  EXPECT_EQ(count("claims/"), 0u);
}

TEST_F(QueueTest, ADamagedClaimEndsAsADeadLetter) {
  const std::string id = *a.plugin.enqueue("x");
  ASSERT_TRUE(a.process.store().put(kRoot + ("claims/" + id), "{", Precondition::absent()));
  leader.lead();
  EXPECT_TRUE(a.finds_none());
  world.clock.advance(30s);
  leader.lead();
  leader.lead();
  ASSERT_EQ(a.plugin.dead_letters()->size(), 1u);
  EXPECT_EQ(a.plugin.dead_letters()->front().message.payload, "x");
}

// S14: more messages, and more claims, than a page holds.
TEST_F(QueueTest, WorksThroughMoreThanAPageAndAWindow) {
  world.thread.run([&] { world.objects->page_size = 3; });
  QueueOptions small;
  small.window_max = 5;
  small.tickets_max = 2;
  QueueMember narrow(world, "narrow", 2, small);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(a.plugin.enqueue("x"));
  int ran = 0;
  for (int round = 0; round < 40; ++round) {
    narrow.lead();
    while (*a.plugin.run_one([](QueueClaim&) -> Status { return Done{}; })) ++ran;
  }
  EXPECT_EQ(ran, 20);
  EXPECT_EQ(count("messages/"), 0u);
}

TEST_F(QueueTest, AnIdleRoundAsksForTwoLists) {
  leader.lead();
  const auto before = leader.process.calls();
  leader.lead();
  EXPECT_EQ(leader.process.calls(), before + 2);
}

}  // namespace queue_test
}  // namespace muster
