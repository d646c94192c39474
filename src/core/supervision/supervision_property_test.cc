// Random trees under random events: what must hold whatever happens.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "core/supervision/supervision_test_scene.h"

namespace muster {
namespace supervision_property_test {

using Kind = SupervisionAction::Kind;

/// A world that carries out what the tree asks for, in its own time, and judges it.
class RandomWorld {
 public:
  explicit RandomWorld(std::uint64_t seed) : random_(seed), tree_(options(), rules()) {
    deadline_ = now_ + 6s;
    handle(tree_.start(deadline_, now_));
  }

  void run() {
    for (int step = 0; step < 200 && !tree_.ended() && !::testing::Test::HasFailure(); ++step) {
      now_ += random_.between(0ms, 400ms);
      if (now_ >= deadline_ - kMargin && !all_killed_by_deadline_) {
        handle(tree_.tick(now_));
        all_killed_by_deadline_ = true;
        for (const auto& [child, asked] : alive_) {
          ASSERT_TRUE(asked == Kind::kKill) << child << " outlives the deadline";
        }
      }
      random_event();
      handle(tree_.tick(now_));
    }
    // Whatever state that left: once stopped, and with children that obey KILL, it ends.
    handle(tree_.stop(now_ + 10s, now_));
    for (int step = 0; step < 100 && !tree_.ended(); ++step) {
      const auto next = tree_.next_tick();
      if (next) now_ = std::max(now_, *next);
      handle(tree_.tick(now_));
      for (const auto& [child, asked] : std::map(alive_)) {
        if (asked == Kind::kKill) exits(child, false);
      }
    }
    ASSERT_TRUE(tree_.ended());
    ASSERT_TRUE(alive_.empty());
    ASSERT_EQ(endings_, 1);
    ASSERT_EQ(ends_, 1);
  }

 private:
  static constexpr Duration kMargin = 600ms;

  SupervisionOptions options() {
    SupervisionOptions options;
    options.strategy = static_cast<RestartStrategy>(random_.below(3));
    options.restarts_max = static_cast<std::uint32_t>(random_.below(20));
    options.kill_margin = kMargin;
    return options;
  }
  std::vector<ChildRules> rules() {
    std::vector<ChildRules> rules(1 + random_.below(5));
    for (ChildRules& each : rules) {
      each.restart = static_cast<RestartPolicy>(random_.below(3));
      if (random_.chance(0.2)) each.shutdown.reset();
      if (random_.chance(0.3)) each.ready_after.reset();
    }
    policies_ = rules;
    return rules;
  }

  void random_event() {
    const std::size_t child = random_.below(policies_.size());
    const bool lives = alive_.contains(child);
    switch (random_.below(8)) {
      case 0:
        if (lives) exits(child, random_.chance(0.5));
        break;
      case 1:
      case 2:
        if (lives) handle(tree_.child_started(child, now_));
        break;
      case 3:
        if (lives) {
          ready_[child] = true;
          handle(tree_.child_ready(child, now_));
        }
        break;
      case 4:
        if (random_.chance(0.1)) handle(tree_.stop(now_ + random_.between(0s, 9s), now_));
        break;
      default:
        if (!random_.chance(0.7)) break;
        if (now_ < deadline_ - kMargin) deadline_ = now_ + 6s;
        handle(tree_.deadline_moved(deadline_, now_));
    }
  }

  void exits(std::size_t child, bool success) {
    alive_.erase(child);
    ready_.erase(child);
    handle(tree_.child_exited(child, success, now_));
  }

  void handle(const SupervisionActions& actions) {
    for (const SupervisionAction& action : actions) {
      ASSERT_EQ(ends_, 0) << "something after the end";
      switch (action.kind) {
        case Kind::kStart:
          ASSERT_EQ(endings_, 0) << "a start after the stop began";
          ASSERT_FALSE(alive_.contains(action.child)) << "two instances";
          ASSERT_TRUE(alive_.empty() || order_respected(action.child)) << "order";
          alive_[action.child] = Kind::kStart;
          break;
        case Kind::kTerminate:
          ASSERT_TRUE(alive_.contains(action.child));
          ASSERT_TRUE(alive_[action.child] == Kind::kStart) << "asked twice";
          if (endings_ > 0) {
            for (auto it = alive_.upper_bound(action.child); it != alive_.end(); ++it) {
              ASSERT_TRUE(stuck_.contains(it->first)) << "reverse order";
            }
          }
          alive_[action.child] = action.kind;
          break;
        case Kind::kKill:
          ASSERT_TRUE(alive_.contains(action.child));
          ASSERT_TRUE(alive_[action.child] != Kind::kKill) << "killed twice";
          alive_[action.child] = action.kind;
          break;
        case Kind::kEnding:
          ++endings_;
          break;
        case Kind::kEnded:
          ASSERT_TRUE(alive_.empty());
          ++ends_;
          break;
        case Kind::kUnkillable:
          ASSERT_TRUE(alive_.at(action.child) == Kind::kKill);
          stuck_.insert(action.child);
          break;
        case Kind::kReady:
          break;
      }
    }
  }

  /// No child before this one is one that would have to say it is ready and has not.
  bool order_respected(std::size_t child) {
    return std::all_of(alive_.begin(), alive_.end(), [&](const auto& each) {
      return each.first > child || policies_[each.first].ready_after || ready_[each.first];
    });
  }

  Random random_;
  std::vector<ChildRules> policies_;
  Supervision tree_;
  MonoTime now_{1000s};
  MonoTime deadline_;
  std::map<std::size_t, Kind> alive_;  ///< And what was asked of it last.
  std::map<std::size_t, bool> ready_;
  std::set<std::size_t> stuck_;
  bool all_killed_by_deadline_ = false;
  int endings_ = 0;
  int ends_ = 0;
};

TEST(SupervisionPropertyTest, OrderOneInstanceAndTheEndHoldUnderRandomEvents) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWorld(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace supervision_property_test
}  // namespace muster
