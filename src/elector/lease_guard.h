#pragma once

#include <atomic>

#include "base/strong.h"
#include "base/time.h"

namespace muster {

/// Answers "is this work still allowed?" for one term. Check it before every effect: the answer
/// compares the deadline with the clock at that moment. It becomes false at the deadline, even if
/// no other code runs, and never true again. Renewals move the deadline. Threads: any.
///
/// stopping() becomes true earlier, for a hand-over: the lease is still renewed, and is released
/// when the work has returned. Long work should check it before each step and return; otherwise the
/// successor waits for a whole lease.
class LeaseGuard {
 public:
  LeaseGuard(const Clock& clock, Epoch epoch, MonoTime deadline)
      : clock_(clock), epoch_(epoch), deadline_ns_(deadline.time_since_epoch().count()) {}
  LeaseGuard(const LeaseGuard&) = delete;
  LeaseGuard& operator=(const LeaseGuard&) = delete;

  [[nodiscard]] bool valid() const { return clock_.now() < deadline(); }
  /// True when the work should begin nothing new and return. Also true after the end of the term.
  [[nodiscard]] bool stopping() const { return stop_requested_.load() || !valid(); }
  /// The epoch to stamp on every effect of this term.
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  /// On this machine's boot clock; in the past once the term has ended.
  [[nodiscard]] MonoTime deadline() const { return MonoTime(Duration(deadline_ns_.load())); }

  /// For the owner. A closed term stays closed.
  void extend(MonoTime deadline) {
    auto current = deadline_ns_.load();
    const auto wanted = deadline.time_since_epoch().count();
    while (current != kClosed && current < wanted &&
           !deadline_ns_.compare_exchange_weak(current, wanted)) {
    }
  }
  void request_stop() { stop_requested_.store(true); }
  void close() { deadline_ns_.store(kClosed); }

 private:
  static constexpr Duration::rep kClosed = MonoTime::min().time_since_epoch().count();
  const Clock& clock_;
  const Epoch epoch_;
  std::atomic<Duration::rep> deadline_ns_;
  std::atomic<bool> stop_requested_{false};
};

}  // namespace muster
