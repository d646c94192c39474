#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/time.h"

namespace muster {

/// One thread's queue of work and timers, with its clock. State belongs to one loop; other
/// threads only post to it. Implementations: platform/event_loop.h (real) and sim/world.h
/// (simulated).
class Loop : public Clock {
 public:
  using Task = std::function<void()>;
  using TimerId = std::uint64_t;

  /// Runs `task` soon, after everything posted before it. Any thread.
  virtual void post(Task task) = 0;
  /// Runs `task` at `when` or soon after, never before. Loop thread only.
  virtual TimerId at(MonoTime when, Task task) = 0;
  /// After this the timer's task does not run. Unknown and past ids are ignored. Loop thread only.
  virtual void cancel(TimerId id) = 0;
};

/// One timer for one purpose: arming it again replaces the earlier deadline, so timers cannot
/// multiply. Loop thread only.
class Timer {
 public:
  explicit Timer(Loop& loop) : loop_(loop) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void arm(MonoTime when, Loop::Task task) {
    cancel();
    id_ = loop_.at(when, [this, task = std::move(task)] {
      id_ = 0;
      task();
    });
  }
  void arm(Duration delay, Loop::Task task) { arm(loop_.now() + delay, std::move(task)); }
  void cancel() {
    if (id_ != 0) loop_.cancel(id_);
    id_ = 0;
  }
  [[nodiscard]] bool armed() const { return id_ != 0; }

 private:
  Loop& loop_;
  Loop::TimerId id_ = 0;
};

/// Protects callbacks that may arrive after the end of their object: a wrapped callback does
/// nothing once the `Lifetime` is destroyed. Wrap, call and destroy on one loop thread.
class Lifetime {
 public:
  template <typename F>
  [[nodiscard]] auto wrap(F f) const {
    return [alive = std::weak_ptr<int>(token_), f = std::move(f)](auto&&... args) mutable {
      if (!alive.expired()) f(std::forward<decltype(args)>(args)...);
    };
  }
  /// Every callback wrapped so far becomes void.
  void renew() { token_ = std::make_shared<int>(0); }
  /// Expires with the holder.
  [[nodiscard]] std::weak_ptr<int> token() const { return token_; }

 private:
  std::shared_ptr<int> token_ = std::make_shared<int>(0);
};

}  // namespace muster
