#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/loop.h"
#include "base/random.h"

namespace muster::sim {

/// Time that no process of the simulation can see.
using TrueTime = Duration;

/// One thread that runs every process, the network and the stores: a queue of events in true time.
/// The seed determines everything, so a run replays exactly.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] TrueTime now() const { return now_; }
  [[nodiscard]] Random& random() { return random_; }

  using EventId = std::pair<TrueTime, std::uint64_t>;
  EventId at(TrueTime when, std::function<void()> event);
  EventId after(Duration delay, std::function<void()> event) {
    return at(now_ + delay, std::move(event));
  }
  void cancel(EventId id) { events_.erase(id); }

  /// Runs the events up to and including `until`, and `after_each` after every one of them. Ends
  /// early if that returns false.
  void run(TrueTime until, const std::function<bool()>& after_each = {});

 private:
  Random random_;
  TrueTime now_{0};
  std::uint64_t next_id_ = 1;
  std::map<EventId, std::function<void()>> events_;
};

/// One process: a loop whose clocks run at their own rate, that can be paused (its timers and
/// messages wait, its clocks go on) and killed (everything of it is dropped).
class Process final : public Loop {
 public:
  /// `rate` is the number of seconds on its boot clock per true second.
  Process(World& world, double rate, Duration wall_offset);
  ~Process() override { kill(); }

  [[nodiscard]] MonoTime now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void post(Task task) override;
  TimerId at(MonoTime when, Task task) override;
  void cancel(TimerId id) override;

  /// Nothing of this process runs before `until`. As SIGSTOP, a suspended virtual machine or a
  /// long garbage collection does.
  void pause(TrueTime until) { paused_until_ = std::max(paused_until_, until); }
  void jump_wall_clock(Duration by) { wall_offset_ += by; }
  void kill();
  [[nodiscard]] bool alive() const { return *alive_; }
  [[nodiscard]] bool paused() const { return world_.now() < paused_until_; }

 private:
  void run(TrueTime when, std::function<void()> task, TimerId id);

  World& world_;
  double rate_;
  Duration wall_offset_;
  TrueTime paused_until_{0};
  TimerId next_timer_ = 1;
  std::map<TimerId, World::EventId> pending_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::sim
