#include "elector/lock_taker.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "sim/faulty_store.h"
#include "sim/world.h"

namespace muster {
namespace {

constexpr Duration kTtl = 10s;

/// A store without faults, one process, and takers of the lock "m" in it.
class LockTakerTest : public ::testing::Test {
 protected:
  /// One attempt and what became of it.
  struct Attempt {
    std::unique_ptr<LockTaker> taker;
    std::shared_ptr<const LeaseGuard> guard;
    std::optional<Error> lost;
    bool ended = false;
    std::optional<Status> how;
    [[nodiscard]] bool holds() const { return guard && guard->valid(); }
  };

  static LockTaker::Options options(LockShape shape = {}) {
    LockTaker::Options result;
    result.name = "m";
    result.shape = shape;
    result.ttl = kTtl;
    result.holder = WorkerId("p");
    return result;
  }
  std::unique_ptr<Attempt> begin(const LockTaker::Options& options) {
    auto attempt = std::make_unique<Attempt>();
    Attempt& a = *attempt;
    LockTaker::Hooks hooks;
    hooks.on_held = [&a](std::shared_ptr<const LeaseGuard> guard) { a.guard = std::move(guard); };
    hooks.on_lost = [&a](const Error& why) { a.lost = why; };
    hooks.on_end = [&a](std::optional<Status> how) {
      EXPECT_FALSE(a.ended);
      a.ended = true;
      a.how = std::move(how);
    };
    a.taker = std::make_unique<LockTaker>(
        options, LockTaker::Deps{process_, store_, Random(world_.random().next()), {}, &memory_},
        hooks);
    a.taker->start();
    return attempt;
  }
  void run(Duration time) { world_.run(world_.now() + time); }
  /// An attempt that does not wait, to its end or until it holds the lock.
  std::unique_ptr<Attempt> try_once() {
    LockTaker::Options once = options();
    once.once = true;
    auto attempt = begin(once);
    run(2s);
    EXPECT_TRUE(attempt->holds() || attempt->ended);
    return attempt;
  }

  sim::World world_{1};
  std::shared_ptr<sim::SharedStore> shared_ = std::make_shared<sim::SharedStore>();
  sim::Process process_{world_, 1.0, 0s};
  sim::FaultyStore store_{world_, process_, shared_};
  LockMemory memory_;
};

TEST_F(LockTakerTest, AFreeLockCostsFiveRequestsAndOneToUnlock) {
  auto first = begin(options());
  run(2s);
  ASSERT_TRUE(first->holds());
  first->taker->release();
  run(1s);
  ASSERT_TRUE(first->ended && first->how && first->how->ok());

  const std::uint64_t before = store_.calls();
  auto second = begin(options());
  run(1s);
  ASSERT_TRUE(second->holds());
  EXPECT_EQ(store_.calls() - before, 5U);
  second->taker->release();
  EXPECT_FALSE(second->holds());
  run(1s);
  EXPECT_TRUE(second->how && second->how->ok());
  EXPECT_EQ(store_.calls() - before, 6U);
}

TEST_F(LockTakerTest, AHolderSendsOneRequestForEachFifthOfItsTtl) {
  auto holds = begin(options());
  run(2s);
  const std::uint64_t before = store_.calls();
  run(10 * kTtl);
  EXPECT_TRUE(holds->holds());
  EXPECT_EQ(store_.calls() - before, 50U);
}

TEST_F(LockTakerTest, AWriterHoldsAllPermitsAndGivesThemBack) {
  LockTaker::Options writes = options({LockKind::kReadWrite, 3});
  writes.writes = true;
  auto writer = begin(writes);
  run(2s);
  ASSERT_TRUE(writer->holds());
  writer->taker->release();
  run(1s);
  ASSERT_TRUE(writer->how && writer->how->ok());
  const LockKeys keys("m");
  for (const std::uint32_t number : {kWriters, 1U, 2U, 3U}) {
    const auto& body =
        shared_->objects->entries().at(NamespaceKeys::below(keys.permit(number)).state).body;
    EXPECT_FALSE(decode_leader_state(body)->leader) << number;
  }
}

TEST_F(LockTakerTest, AttemptsThatDoNotWaitAddUpToATtl) {
  auto dead = begin(options());
  run(2s);
  ASSERT_TRUE(dead->holds());
  dead->taker.reset();
  int tries = 0;
  auto next = try_once();
  for (; !next->holds() && tries < 20; ++tries) next = try_once();
  EXPECT_TRUE(next->holds());
  // Each takes two seconds.
  EXPECT_GE(tries, 4);
  EXPECT_LE(tries, 6);
}

TEST_F(LockTakerTest, WhatWasRememberedIsVoidOnceTheHolderRenewed) {
  auto holder = begin(options());
  run(2s);
  for (int tries = 0; tries < 10; ++tries) {
    EXPECT_FALSE(try_once()->holds());
    EXPECT_TRUE(holder->holds());
  }
}

TEST_F(LockTakerTest, WhatWasRememberedOfAnotherHistoryIsVoid) {
  ElectionObservation observed;
  observed.lease.observe(Revision("1"), kTtl, MonoTime(1s));
  memory_.keep("permit", observed, 3);
  EXPECT_TRUE(memory_.recall("permit", 3).lease.seen());
  EXPECT_FALSE(memory_.recall("permit", 4).lease.seen());
  memory_.forget("permit");
  EXPECT_FALSE(memory_.recall("permit", 3).lease.seen());
}

// A process that died between the two writes of an acquisition leaves a floor that may hide it.
TEST_F(LockTakerTest, AttemptsThatDoNotWaitOutliveAnInterruptedAcquisition) {
  auto first = begin(options());
  run(2s);
  first->taker->release();
  run(1s);
  const Key floor = NamespaceKeys::below(LockKeys("m").permit(1)).metadata;
  NamespaceMetadata metadata = *decode_metadata(shared_->objects->entries().at(floor).body);
  metadata.epoch_floor = Epoch(7);
  (void)shared_->objects->put(floor, encode(metadata), {}, {}, MonoTime());
  int tries = 0;
  auto next = try_once();
  for (; !next->holds() && tries < 20; ++tries) next = try_once();
  ASSERT_TRUE(next->holds());
  EXPECT_EQ(next->guard->epoch(), Epoch(8));
  EXPECT_GE(tries, 4);
  EXPECT_LE(tries, 6);
}

TEST_F(LockTakerTest, AReplyThatIsLostMakesTheSameLock) {
  // Each write takes effect and says that it is not known whether it did.
  shared_->faults.error_after = 1;
  auto attempt = begin(options());
  run(1s);
  shared_->faults.error_after = 0;
  run(kTtl);
  EXPECT_TRUE(attempt->holds());
}

TEST_F(LockTakerTest, ADamagedLockIsRefusedAndNotMadeAnew) {
  (void)shared_->objects->put(LockKeys("m").shape, "{}", {}, {}, MonoTime());
  auto attempt = begin(options());
  run(1s);
  ASSERT_TRUE(attempt->ended && attempt->how);
  EXPECT_TRUE(attempt->how->is(Errc::kCorrupt));
  EXPECT_NE(attempt->how->error().message.find("lock m"), std::string::npos);
}

TEST_F(LockTakerTest, AStoreThatNeverAnswersKeepsNobodyWaiting) {
  auto attempt = begin(options());
  run(2s);
  ASSERT_TRUE(attempt->holds());
  shared_->faults.down = true;
  attempt->taker->release();
  run(2 * kTtl / 5 + 1ms);
  ASSERT_TRUE(attempt->ended && attempt->how);
  EXPECT_TRUE(attempt->how->is(Errc::kAmbiguous));
}

TEST_F(LockTakerTest, ALockThatExpiredIsLostOnceAndSaysWhy) {
  auto attempt = begin(options());
  run(2s);
  shared_->faults.down = true;
  run(2 * kTtl);
  ASSERT_TRUE(attempt->lost);
  EXPECT_EQ(attempt->lost->code, Errc::kUnavailable);
  EXPECT_TRUE(attempt->ended && attempt->how && attempt->how->is(Errc::kUnavailable));
}

TEST_F(LockTakerTest, WhatIsWrongIsNamed) {
  LockTaker::Options wrong = options();
  wrong.ttl = 1ms;
  EXPECT_NE(LockTaker::validate(wrong).error().message.find("100ms"), std::string::npos);
  wrong = options({LockKind::kSemaphore, kPermitsMax + 1});
  EXPECT_NE(LockTaker::validate(wrong).error().message.find("64"), std::string::npos);
  wrong = options();
  wrong.name = "a/b";
  EXPECT_TRUE(LockTaker::validate(wrong).is(Errc::kInvalid));
}

/// The holder is elsewhere, as for a server that takes locks for its clients.
LockTaker::Options of_session(LockTaker::Options options) {
  options.session = Incarnation("session-1");
  return options;
}

TEST_F(LockTakerTest, ALockOfAHolderElsewhereIsRenewedOnlyWhenTold) {
  auto holds = begin(of_session(options()));
  holds->taker->told();
  run(2s);
  ASSERT_TRUE(holds->holds());
  const std::uint64_t before = store_.calls();
  run(4s);
  EXPECT_EQ(store_.calls(), before);
  holds->taker->told();
  run(1s);
  EXPECT_EQ(store_.calls(), before + 1);
  EXPECT_GT(holds->guard->deadline(), process_.now() + 7s);
  run(8s);
  EXPECT_FALSE(holds->holds());
  EXPECT_TRUE(holds->lost);
}

TEST_F(LockTakerTest, ALockOfAHolderElsewhereIsNotTakenWhileItIsSilent) {
  auto silent = begin(of_session(options()));
  run(20s);
  EXPECT_FALSE(silent->guard);
  silent->taker->told();
  run(2s);
  EXPECT_TRUE(silent->holds());
}

// The holder counts by a clock that may be slower.
TEST_F(LockTakerTest, WhatAHolderElsewhereMayStillHoldIsNotGivenBack) {
  auto holds = begin(of_session(options()));
  holds->taker->told();
  run(1s);
  ASSERT_TRUE(holds->holds());
  const auto& state = NamespaceKeys::below(LockKeys("m").permit(1)).state;
  run(kTtl);
  ASSERT_TRUE(holds->lost && holds->ended);
  EXPECT_EQ(decode_leader_state(shared_->objects->entries().at(state).body)->leader, WorkerId("p"));
}

TEST_F(LockTakerTest, ALockGoesOnWithItsTokenAfterItsTakerIsGone) {
  LockTaker::Options writes = of_session(options({LockKind::kReadWrite, 3}));
  writes.writes = true;
  auto gone = begin(writes);
  gone->taker->told();
  run(2s);
  ASSERT_TRUE(gone->holds());
  const Epoch token = gone->guard->epoch();
  writes.resumed = gone->taker->holds_by();
  EXPECT_EQ(writes.resumed.size(), 4U);
  gone->taker.reset();
  run(5s);
  auto next = begin(writes);
  next->taker->told();
  run(1s);
  ASSERT_TRUE(next->holds());
  EXPECT_EQ(next->guard->epoch(), token);
  EXPECT_EQ(next->taker->holds_by(), writes.resumed);
  next->taker->release();
  run(1s);
  EXPECT_TRUE(next->how && next->how->ok());

  auto late = begin(writes);
  late->taker->told();
  run(1s);
  EXPECT_TRUE(late->ended) << "it was released, and is not taken anew";
  EXPECT_FALSE(late->guard);
}

}  // namespace
}  // namespace muster
