#pragma once

#include <signal.h>

#include <functional>

#include "platform/event_loop.h"
#include "platform/unique_fd.h"

namespace muster {

/// Wakes a loop from where nothing else may be called: ring() is for any thread and for signal
/// handlers. Made and destroyed on the loop's thread; ring() must have returned by then.
class Doorbell {
 public:
  /// `rung` is called on the loop, at least once after each ring().
  Doorbell(EventLoop& loop, std::function<void()> rung);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  void ring() noexcept;

 private:
  EventLoop& loop_;
  UniqueFd bell_;
};

/// While one of these lives, the thread that made it is given no signals, and threads that it
/// starts inherit that: signals are for the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace muster
