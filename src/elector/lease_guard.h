#pragma once

#include <atomic>

#include "base/strong.h"
#include "base/time.h"

namespace muster {

/// Answers "is this work still allowed?" for one term. Work asks before every effect; the answer
/// is compared with the clock at that moment, so it turns false at the deadline even when nobody
/// is left to say so, and never true again. Renewals move the deadline. Any thread.
///
/// stopping() turns true earlier, when the term is to be handed over: the lease is still renewed,
/// and is released as soon as the work has returned. Work that takes longer than a moment asks it
/// before each step and returns; what goes on costs the successor a whole lease.
class LeaseGuard {
 public:
  LeaseGuard(const Clock& clock, Epoch epoch, MonoTime deadline)
      : clock_(clock), epoch_(epoch), deadline_ns_(deadline.time_since_epoch().count()) {}
  LeaseGuard(const LeaseGuard&) = delete;
  LeaseGuard& operator=(const LeaseGuard&) = delete;

  [[nodiscard]] bool valid() const { return clock_.now() < deadline(); }
  /// Begin nothing new, and return. Also true once the term has ended.
  [[nodiscard]] bool stopping() const { return stop_requested_.load() || !valid(); }
  /// Stamped on everything that this term does.
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  /// On this machine's boot clock; in the past once the term has ended.
  [[nodiscard]] MonoTime deadline() const { return MonoTime(Duration(deadline_ns_.load())); }

  /// The owner's part: a term that was closed stays closed.
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
