#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "base/log.h"
#include "base/random.h"
#include "plugins/scheduler.h"
#include "plugins/test_stage.h"

namespace muster {
namespace scheduler_kill_test {

using stage::Call;
using stage::Fault;
using stage::Stage;

constexpr WallTime kStart = wall_from_ms(1'710'496'800'000);
constexpr int kMinutes = 60;

/// What a whole history did to each due time.
struct History {
  std::map<WallTime, int> started;
  /// A kill hit while the claim of this due time had landed and its run had not begun.
  std::set<WallTime> killed_after_claim;
};

/// One leader's life: it dies at its `die_at`th call to the store, before the call took effect or
/// after, and from then on nothing of it reaches the store and its guard is closed. The store may
/// also lose answers on the way.
class Life {
 public:
  Life(Stage& stage, Random& random, std::uint64_t epoch, History& history)
      : guard_(stage.term(epoch)),
        process_(stage.process()),
        scheduler_(process_.sync, "test", Random(random.next())),
        die_at_(static_cast<int>(random.below(12)) + 1),
        after_effect_(random.chance(0.5)),
        faults_(random.next()) {
    scheduler_.attach(stage.clock, {});
    scheduler_.learn_epoch(guard_->epoch());
    ScheduledJob job;
    job.name = "tick";
    job.cron = "* * * * *";
    job.missed = MissedRuns::kRunAll;
    job.run = [&history](const ScheduledRun& run) {
      EXPECT_TRUE(run.guard.valid());
      ++history.started[run.due];
    };
    EXPECT_TRUE(scheduler_.add(job));
    process_.store.hook = [this, &history](const Call& call) { return meet(call, history); };
    scheduler_.on_become_coordinator(*guard_);
  }

  void work() { scheduler_.coordinator_work(*guard_); }
  [[nodiscard]] bool dead() const { return !guard_->valid(); }
  /// A claim whose answer was lost and whose process died before it could read it back.
  void bury(Stage& stage, History& history) {
    const auto now = stage.body("plugin=scheduler/namespace=test/job=tick.json");
    if (!unread_.empty() && unread_ == now) note_claim({Call::Kind::kPut, {}, now}, history);
  }

 private:
  Fault meet(const Call& call, History& history) {
    if (dead()) return Fault::kUnavailable;
    const bool writes = call.kind == Call::Kind::kPut;
    if (++calls_ == die_at_) {
      guard_->close();
      if (!writes || !after_effect_) return Fault::kUnavailable;
      note_claim(call, history);
      return Fault::kLanded;
    }
    if (!writes) return faults_.chance(0.1) ? Fault::kUnavailable : Fault::kNone;
    if (faults_.chance(0.1)) return Fault::kLost;
    if (faults_.chance(0.1)) {
      unread_ = call.body;
      return Fault::kLanded;
    }
    return Fault::kNone;
  }
  static void note_claim(const Call& call, History& history) {
    const auto record = decode_run_record(call.body);
    ASSERT_TRUE(record);
    if (record->state == RunState::kClaimed) history.killed_after_claim.insert(record->last_due);
  }

  std::unique_ptr<LeaseGuard> guard_;
  Stage::Process& process_;
  Scheduler scheduler_;
  int calls_ = 0;
  const int die_at_;
  const bool after_effect_;
  Random faults_;
  std::string unread_;
};

void play(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Stage stage;
  stage.clock.set_wall(kStart);
  History history;
  std::uint64_t epoch = 1;
  auto leader = std::make_unique<Life>(stage, random, epoch, history);
  // Dead ones come back as zombies now and then: they must not start anything.
  std::vector<std::unique_ptr<Life>> graves;
  WallTime now = kStart;
  while (now <= kStart + std::chrono::minutes(kMinutes)) {
    leader->work();
    if (!graves.empty() && random.chance(0.3)) graves[random.below(graves.size())]->work();
    if (leader->dead()) {
      leader->bury(stage, history);
      graves.push_back(std::move(leader));
      leader = std::make_unique<Life>(stage, random, ++epoch, history);
    }
    if (random.chance(0.5)) now += std::chrono::seconds(random.below(40));
    stage.clock.set_wall(now);
  }
  ASSERT_FALSE(history.started.empty());
  const WallTime first = history.started.begin()->first;
  const WallTime last = history.started.rbegin()->first;
  for (WallTime due = first; due <= last; due += 1min) {
    const int starts = history.started[due];
    EXPECT_LE(starts, 1) << to_ms(due);
    if (!history.killed_after_claim.contains(due)) {
      EXPECT_EQ(starts, 1) << "due " << (due - kStart).count() / 60'000;
    }
  }
}

// Leaders that die at random calls, and a store that loses answers: nothing runs twice, and what
// was not cut down between claim and start has run.
TEST(SchedulerKillTest, EveryDueTimeStartsAtMostOnceAndExactlyOnceUnlessKilledAfterItsClaim) {
  // Takes up to 6 s beside other tests: 150 seeds, simulated; nothing in them waits.
  set_log_sink({});
  for (std::uint64_t seed = 1; seed <= 150; ++seed) play(seed);
}

}  // namespace scheduler_kill_test
}  // namespace muster
