#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/loop.h"
#include "platform/event_loop.h"
#include "platform/process.h"

namespace muster {

/// Reports a Ctrl-C or Ctrl-\ on a terminal that was lent to a command.
///
/// The kernel sends these signals only to the process group that has the terminal. So a process of
/// Muster joins that group, ignores the signals, and reports them. It is not a descendant of the
/// command's guardian, and dies with the group at the latest. Threads: loop thread only.
class KeyWitness {
 public:
  /// Calls `typed` with SIGINT or SIGQUIT, until this is destroyed. If the process cannot be
  /// started, nothing is reported.
  KeyWitness(EventLoop& loop, const std::string& guardian, pid_t group,
             std::function<void(int)> typed);
  ~KeyWitness();
  KeyWitness(const KeyWitness&) = delete;
  KeyWitness& operator=(const KeyWitness&) = delete;

  /// The command has ended: reports signals typed before that, then stops.
  void finish();

 private:
  void read();

  EventLoop& loop_;
  const std::function<void(int)> typed_;
  UniqueFd socket_;
  std::optional<Process> process_;
};

/// The first argument of the guardian program that makes it a witness; the group follows.
inline constexpr const char* kWatchKeys = "keys";

/// Runs the witness and returns its exit code. Requires: the socket is guardian::kSocketFd.
[[nodiscard]] int watch_keys(pid_t group);

}  // namespace muster
