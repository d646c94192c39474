#include "sim/world.h"

#include <algorithm>

#include "base/check.h"

namespace muster::sim {

World::EventId World::at(TrueTime when, std::function<void()> event) {
  const EventId id{std::max(when, now_), next_id_++};
  events_.emplace(id, std::move(event));
  return id;
}

void World::run(TrueTime until, const std::function<bool()>& after_each) {
  while (!events_.empty() && events_.begin()->first.first <= until) {
    auto node = events_.extract(events_.begin());
    now_ = node.key().first;
    node.mapped()();
    if (after_each && !after_each()) return;
  }
  now_ = std::max(now_, until);
}

Process::Process(World& world, double rate, Duration wall_offset)
    : world_(world), rate_(rate), wall_offset_(wall_offset) {
  MUSTER_CHECK(rate > 0.5 && rate < 2.0);
}

MonoTime Process::now() const {
  return MonoTime(scale(world_.now(), rate_));
}

WallTime Process::wall_now() const {
  // Some date well after the epoch, so that clocks set back do not reach it.
  constexpr Duration kBase = std::chrono::hours(24 * 365 * 50);
  return WallTime(
      std::chrono::duration_cast<std::chrono::milliseconds>(kBase + world_.now() + wall_offset_));
}

void Process::post(Task task) {
  if (!alive()) return;
  const TimerId id = next_timer_++;
  run(world_.now(), std::move(task), id);
}

Loop::TimerId Process::at(MonoTime when, Task task) {
  const TimerId id = next_timer_++;
  if (!alive() || when == MonoTime::max()) return id;
  // Rounded up, so that a timer never runs before its own clock shows its time.
  const TrueTime due = scale(when.time_since_epoch(), 1.0 / rate_) + 1us;
  run(due, std::move(task), id);
  return id;
}

void Process::run(TrueTime when, std::function<void()> task, TimerId id) {
  pending_[id] = world_.at(when, [this, id, task = std::move(task)]() mutable {
    if (paused()) return run(paused_until_, std::move(task), id);
    pending_.erase(id);
    task();
  });
}

void Process::cancel(TimerId id) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  world_.cancel(it->second);
  pending_.erase(it);
}

void Process::kill() {
  *alive_ = false;
  for (const auto& [id, event] : pending_) world_.cancel(event);
  pending_.clear();
}

}  // namespace muster::sim
