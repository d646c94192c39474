#pragma once

#include <functional>
#include <string>
#include <vector>

#include "platform/event_loop.h"
#include "platform/unique_fd.h"

namespace muster {

/// Signals as events of a loop, so that no work is done in a signal handler. Make one before any
/// other thread starts: threads inherit that these signals are left to the loop. A signal that
/// this process was started to ignore (as by nohup) stays ignored. The signals stay blocked when
/// this is destroyed. Loop thread only; one for a process.
class SignalWatch {
 public:
  SignalWatch(EventLoop& loop, const std::vector<int>& numbers, std::function<void(int)> received);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  EventLoop& loop_;
  UniqueFd signals_;
};

/// "SIGTERM", or "signal 64" for one that has no name.
[[nodiscard]] std::string signal_name(int number);

}  // namespace muster
