#pragma once

#include <muster/lock.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "api/connection.h"
#include "platform/doorbell.h"

namespace muster::api {

/// A lock for the C functions: a thread of its own takes it, so that other threads may wait for it
/// again and again. Threads: any.
class LockAttempt {
 public:
  LockAttempt(pub::Arbiter arbiter, std::string name, pub::LockOptions options) {
    options.stop = unwanted_.get_token();
    options.on_lost = [lost = lost_](const pub::Error&) mutable { lost.request_stop(); };
    const SignalsBlocked blocked;
    taking_ = std::thread(
        [this, arbiter = std::move(arbiter), name = std::move(name), options = std::move(options)] {
          auto taken = pub::Lock::acquire(arbiter, name, options);
          const std::lock_guard lock(mutex_);
          taken_.emplace(std::move(taken));
          changed_.notify_all();
        });
  }
  ~LockAttempt() {
    unwanted_.request_stop();
    taking_.join();
  }
  LockAttempt(const LockAttempt&) = delete;
  LockAttempt& operator=(const LockAttempt&) = delete;

  /// Throws the error of a lock that is not held after `at_most`.
  void wait(pub::Duration at_most) {
    std::unique_lock lock(mutex_);
    const auto over = [this] { return taken_.has_value(); };
    if (at_most == pub::Duration::max()) changed_.wait(lock, over);
    if (!changed_.wait_for(lock, std::min<pub::Duration>(at_most, kLongest), over)) {
      pub::throw_bad_result({pub::Code::kTimeout, "the lock is held by others"});
    }
    if (!*taken_) pub::throw_bad_result(taken_->error());
  }
  /// What `ask` answers of the lock, or nothing before it is held.
  template <typename Ask>
  auto ask(Ask ask) const {
    const std::lock_guard lock(mutex_);
    using Answer = decltype(ask(**taken_));
    return taken_ && *taken_ ? ask(**taken_) : Answer();
  }
  [[nodiscard]] std::stop_token lost() const { return lost_.get_token(); }

 private:
  /// No wait is longer, and no sum with it overflows.
  static constexpr pub::Duration kLongest = std::chrono::hours(24 * 365);

  std::stop_source unwanted_;
  std::stop_source lost_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<pub::Result<pub::Lock>> taken_;
  std::thread taking_;
};

}  // namespace muster::api
