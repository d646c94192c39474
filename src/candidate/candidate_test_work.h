#pragma once

// Leader-only work in a simulated world, for tests: it runs in true time, takes its time to start
// and to stop, fails, ignores requests to stop, and has a guardian that ends it in time.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "candidate/leader_work.h"
#include "sim/world.h"

namespace muster::sim {

/// When which node's work ran, as nobody in the simulation can know it, and what was wrong about
/// that.
class WorkJournal {
 public:
  struct Interval {
    std::string node;
    Epoch epoch;
    TrueTime from;
    std::optional<TrueTime> to;
  };

  std::size_t open(const std::string& node, Epoch epoch, TrueTime now) {
    for (const Interval& other : intervals_) {
      if (!other.to) violate(node + " starts work while that of " + other.node + " runs");
      if (epoch <= other.epoch) {
        violate(node + " starts work with epoch " + std::to_string(epoch.value()) +
                " after epoch " + std::to_string(other.epoch.value()));
      }
    }
    intervals_.push_back({node, epoch, now, {}});
    return intervals_.size() - 1;
  }
  void close(std::size_t interval, TrueTime now) { intervals_[interval].to = now; }
  void violate(std::string what) {
    if (violation.empty()) violation = std::move(what);
  }
  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }
  /// Whose work runs now.
  [[nodiscard]] std::vector<std::string> running() const {
    std::vector<std::string> nodes;
    for (const Interval& interval : intervals_) {
      if (!interval.to) nodes.push_back(interval.node);
    }
    return nodes;
  }

  std::string violation;  ///< The first; empty while all is well.

 private:
  std::vector<Interval> intervals_;
};

/// How work behaves. Probabilities are per term.
struct WorkHabits {
  Duration start_max = 0s;
  Duration stop_max = 0s;
  Duration stop_time = 0s;  ///< What it needs for a clean stop.
  double start_fails = 0;
  double fails_later = 0;   ///< Within a minute.
  double ignores_stop = 0;  ///< Ends only by force.
  double reports_late = 0;  ///< It is gone, and nobody is told for up to half a minute.
};

/// One node's work. Its guardian shares the node's clock and is neither paused nor killed with the
/// candidate; it ends the work a margin before the deadline, and when the candidate has died.
class SimulatedWork final : public LeaderWork {
 public:
  SimulatedWork(World& world, Process& process, double clock_rate, std::string node,
                Duration kill_margin, const WorkHabits& with_habits, WorkJournal& journal)
      : habits(with_habits),
        world_(world),
        process_(process),
        guardian_(world, clock_rate, 0s),
        kill_timer_(guardian_),
        exit_timer_(guardian_),
        node_(std::move(node)),
        kill_margin_(kill_margin),
        journal_(journal) {}

  void start(Epoch epoch, std::shared_ptr<const LeaseGuard> guard, std::function<void()> on_ready,
             std::function<void(std::string why)> on_failed) override {
    ++starts;
    if (std::exchange(owes_receipt_, true)) {
      journal_.violate(node_ + " starts work before the last is known to be gone");
    }
    if (!guard->valid()) return process_.post([on_failed] { on_failed("the lease is over"); });
    interval_ = journal_.open(node_, epoch, world_.now());
    killing_ = false;
    deadline_moved(guard->deadline());
    Random& random = world_.random();
    const Duration takes = random.between(0s, habits.start_max);
    if (random.chance(habits.start_fails)) {
      later(takes, [on_failed] { on_failed("planted: does not start"); });
      return;
    }
    later(takes, std::move(on_ready));
    if (random.chance(habits.fails_later)) {
      later(takes + random.between(0s, 1min), [on_failed] { on_failed("planted: fails"); });
    }
  }

  [[nodiscard]] Duration stop_time() const override { return habits.stop_time; }
  void stop(MonoTime by, std::function<void(bool)> done) override {
    done_ = std::move(done);
    stop_by_ = by;
    if (!interval_) return report();
    Random& random = world_.random();
    arm_kill(deadline_ - kill_margin_);
    if (killing_ || random.chance(habits.ignores_stop)) return;
    exit_timer_.arm(random.between(0s, habits.stop_max), [this] { gone(); });
  }

  void deadline_moved(MonoTime deadline) override {
    if (!interval_) return;
    const bool over = deadline <= guardian_.now();
    if (!over) deadline_ = deadline;
    arm_kill(over ? guardian_.now() : deadline - kill_margin_);
  }

  /// The candidate's process is gone: the guardian reads the end of its pipe.
  void parent_died() {
    orphan_ = true;
    if (interval_) arm_kill(guardian_.now());
  }
  [[nodiscard]] bool runs() const { return interval_.has_value(); }

  WorkHabits habits;
  int starts = 0;

 private:
  void later(Duration delay, std::function<void()> task) {
    process_.at(process_.now() + delay, std::move(task));
  }
  // A renewal puts off the end of a stop in progress, too, but not past the time it was given.
  void arm_kill(MonoTime when) {
    if (killing_) return;
    kill_timer_.arm(done_ ? std::min(when, stop_by_) : when, [this] {
      killing_ = true;
      exit_timer_.arm(world_.random().between(0s, kill_margin_ / 2), [this] { gone(); });
    });
  }
  void gone() {
    kill_timer_.cancel();
    exit_timer_.cancel();
    if (guardian_.now() > deadline_) journal_.violate(node_ + "'s work outlived its deadline");
    journal_.close(*std::exchange(interval_, std::nullopt), world_.now());
    if (done_) report();
  }
  void report() {
    if (orphan_) return;
    const auto done = std::exchange(done_, nullptr);
    Random& random = world_.random();
    const bool late = random.chance(habits.reports_late);
    later(late ? random.between(0s, 30s) : Duration(0), [this, done] {
      owes_receipt_ = false;
      done(true);
    });
  }

  World& world_;
  Process& process_;
  Process guardian_;
  Timer kill_timer_;
  Timer exit_timer_;
  std::string node_;
  Duration kill_margin_;
  WorkJournal& journal_;
  std::optional<std::size_t> interval_;
  MonoTime deadline_{};
  MonoTime stop_by_{};  ///< While it is being stopped.
  bool killing_ = false;
  bool orphan_ = false;
  bool owes_receipt_ = false;  ///< Started, and not yet reported gone.
  std::function<void(bool)> done_;
};

}  // namespace muster::sim
