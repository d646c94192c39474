// The queue when processes die at every possible call and the way to the store misbehaves.

#include <gtest/gtest.h>

#include "base/log.h"
#include "plugins/queue_testing.h"

namespace muster {
namespace queue_crash_test {

using testing::Fault;
using testing::QueueMember;
using testing::SharedWorld;

struct QueueCrashTest : ::testing::Test {
  QueueCrashTest() { set_log_sink({}); }
};

Status succeed(QueueClaim&) {
  return Done{};
}

/// Lets a healthy leader and worker finish whatever there is; how many messages they ran.
int finish(SharedWorld& world, std::uint64_t epoch) {
  QueueMember leader(world, "leader", epoch);
  QueueMember worker(world, "worker", epoch);
  int ran = 0;
  for (int round = 0; round < 12; ++round) {
    leader.lead();
    while (*worker.plugin.run_one(succeed)) ++ran;
    world.clock.advance(30s);
  }
  leader.lead();
  EXPECT_EQ(world.count("plugin=queue/namespace=default/queue=default/messages/"), 0u);
  EXPECT_EQ(world.count("plugin=queue/namespace=default/queue=default/claims/"), 0u);
  return ran;
}

TEST_F(QueueCrashTest, AWorkerThatDiesAtAnyCallLosesNothing) {
  for (const bool after : {false, true}) {
    for (std::uint64_t at = 0;; ++at) {
      SCOPED_TRACE("call " + std::to_string(at));
      SharedWorld world;
      QueueMember producer(world, "producer", 1);
      ASSERT_TRUE(producer.plugin.enqueue("x"));
      QueueMember leader(world, "leader", 1);
      leader.lead();
      QueueMember dying(world, "dying", 1);
      dying.process.crash_at(at, after);
      int ran = 0;
      const auto outcome = dying.plugin.run_one([&](QueueClaim&) -> Status {
        ++ran;
        return Done{};
      });
      const bool survived = dying.process.calls() <= at;
      const bool acknowledged = outcome && *outcome;
      // Done once when the acknowledgement landed, told or not; otherwise run by another.
      const int more = finish(world, 2);
      if (acknowledged) {
        EXPECT_EQ(more, 0);
      }
      EXPECT_GE(ran + more, 1);
      EXPECT_LE(more, 1);
      if (survived) {
        ASSERT_GE(at, 3u);
        break;
      }
    }
  }
}

TEST_F(QueueCrashTest, ALeaderThatDiesAtAnyCallLosesAndDoublesNothing) {
  for (const bool after : {false, true}) {
    for (std::uint64_t at = 0;; ++at) {
      SCOPED_TRACE("call " + std::to_string(at));
      SharedWorld world;
      QueueMember worker(world, "worker", 1);
      QueueMember first(world, "first", 1);
      // One is done, one is about to die, one has failed, one is new.
      for (const char* id : {"1-done", "2-dead", "3-failed"}) {
        ASSERT_TRUE(worker.plugin.enqueue("x", id));
      }
      QueueOptions once;
      once.attempts_max = 1;
      first.lead();
      std::map<std::string, int> ran;
      for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(*worker.plugin.run_one([&](QueueClaim& claim) -> Status {
          if (claim.id() == "1-done") return Done{};
          return {Errc::kInvalid, "failed"};
        }));
      }
      ASSERT_TRUE(worker.plugin.enqueue("x", "4-new"));
      bool survived = false;
      {
        QueueMember dying(world, "dying", 2, once);  // Takes both failures for dead.
        dying.process.crash_at(at, after);
        dying.lead();
        dying.lead();
        world.clock.advance(1min);
        dying.lead();
        survived = dying.process.calls() <= at;
      }
      const int more = finish(world, 3);
      // "4-new" runs once; the failures run again unless they were declared dead.
      const auto dead = worker.plugin.dead_letters();
      ASSERT_TRUE(dead);
      EXPECT_EQ(more, 1 + 2 - static_cast<int>(dead->size()));
      if (survived) {
        EXPECT_EQ(dead->size(), 2u);
        ASSERT_GT(at, 10u);
        break;
      }
    }
  }
}

TEST_F(QueueCrashTest, AProducerThatDiesAtAnyCallEnqueuesOnceOrNotAtAll) {
  for (const bool after : {false, true}) {
    for (std::uint64_t at = 0; at < 3; ++at) {
      SharedWorld world;
      QueueMember producer(world, "producer", 1);
      producer.process.crash_at(at, after);
      const auto sent = producer.plugin.enqueue("x");
      const int ran = finish(world, 2);
      EXPECT_TRUE(ran == 1 || (ran == 0 && !sent)) << ran;
    }
  }
}

/// A random life of a queue: workers claim, dawdle, extend, acknowledge, fail and die, leaders
/// change, and every request may be lost, doubled or late.
class RandomLife {
 public:
  explicit RandomLife(std::uint64_t seed) : random_(std::make_shared<Random>(seed)) {
    options_.attempts_max = 1000;
    leader_ = member("leader");
    for (int i = 0; i < 3; ++i) workers_.push_back({member("w" + std::to_string(i)), {}});
  }

  void step() {
    const auto pick = random_->below(12);
    Worker& worker = workers_[random_->below(workers_.size())];
    if (pick < 3) {
      leader_->lead();
    } else if (pick < 4) {
      const std::string id = worker.member->plugin.new_id();
      if (worker.member->plugin.enqueue("x", id)) enqueued_.insert(id);
    } else if (pick < 8) {
      work(worker);
    } else if (pick < 10) {
      world_.clock.advance(random_->between(0s, 12s));
      // The one thing asked of the network: nothing arrives later than a tombstone stays.
      if (world_.clock.now() - landed_ > 40s) land_late();
    } else if (pick < 11) {
      land_late();
    } else if (random_->chance(0.3)) {
      ++epoch_;
      leader_ = member("leader");
    } else if (random_->chance(0.3)) {
      worker = {member("w" + std::to_string(++births_)), {}};
    }
    check();
  }

  /// Everything heals: what is not done yet is run.
  void heal() {
    for (Worker& worker : workers_) worker = {member("healed"), {}};
    ++epoch_;
    QueueMember leader(world_, "last", epoch_, options_);
    QueueMember worker(world_, "worker", epoch_, options_);
    for (int round = 0; round < 10; ++round) {
      leader.lead();
      const auto note = [this](QueueClaim& claim) -> Status {
        EXPECT_FALSE(done_.contains(claim.id())) << "ran after it was acknowledged";
        done_.insert(claim.id());
        return Done{};
      };
      while (*worker.plugin.run_one(note)) {
      }
      world_.clock.advance(31s);
    }
    for (const std::string& id : enqueued_) {
      EXPECT_TRUE(done_.contains(id) || perhaps_done_.contains(id)) << id << " was lost";
    }
  }

  [[nodiscard]] std::size_t done() const { return done_.size(); }

 private:
  struct Worker {
    std::unique_ptr<QueueMember> member;
    std::optional<QueueClaim> claim;
  };

  std::unique_ptr<QueueMember> member(const std::string& name) {
    auto made =
        std::make_unique<QueueMember>(world_, name + std::to_string(++births_), epoch_, options_);
    made->process.set_script([random = random_](std::uint64_t, bool) {
      const auto pick = random->below(25);
      return pick < 7 ? static_cast<Fault>(pick) : Fault::kNone;
    });
    return made;
  }

  void land_late() {
    for (Worker& worker : workers_) worker.member->process.land_late();
    leader_->process.land_late();
    landed_ = world_.clock.now();
  }

  void work(Worker& worker) {
    Queue& plugin = worker.member->plugin;
    if (!worker.claim) {
      auto claimed = plugin.claim();
      if (!claimed || !*claimed) return;
      EXPECT_FALSE(done_.contains((*claimed)->id())) << "claimed after it was acknowledged";
      worker.claim = std::move(*claimed);
    } else if (random_->chance(0.4)) {
      const Status extended = plugin.extend(*worker.claim);
      if (extended.is(Errc::kConflict)) worker.claim.reset();
    } else if (random_->chance(0.3)) {
      (void)plugin.fail(*worker.claim, "no luck").ok();
      worker.claim.reset();
    } else {
      const Status done = plugin.acknowledge(*worker.claim);
      if (done) done_.insert(worker.claim->id());
      if (done.is(Errc::kAmbiguous) || done.is(Errc::kThrottled))
        perhaps_done_.insert(worker.claim->id());
      worker.claim.reset();
    }
  }

  /// No two workers may believe that they hold one message.
  void check() {
    std::set<std::string> held;
    for (const Worker& worker : workers_) {
      if (!worker.claim || !worker.claim->guard().valid()) continue;
      EXPECT_TRUE(held.insert(worker.claim->id()).second) << "two live claimants";
    }
  }

  SharedWorld world_;
  std::shared_ptr<Random> random_;
  QueueOptions options_;
  std::uint64_t epoch_ = 1;
  int births_ = 0;
  MonoTime landed_ = world_.clock.now();
  std::unique_ptr<QueueMember> leader_;
  std::vector<Worker> workers_;
  std::set<std::string> enqueued_;
  std::set<std::string> done_;
  std::set<std::string> perhaps_done_;
};

TEST_F(QueueCrashTest, NothingIsLostAndNoTwoLiveClaimantsUnderRandomFaults) {
  std::size_t done = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLife life(seed);
    for (int i = 0; i < 250; ++i) life.step();
    life.heal();
    done += life.done();
    if (HasFailure()) return;
  }
  EXPECT_GT(done, 300u);
}

}  // namespace queue_crash_test
}  // namespace muster
