#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/loop.h"
#include "platform/event_loop.h"
#include "platform/process.h"

namespace muster {

/// Learns that Ctrl-C or Ctrl-\ was typed on a terminal that was lent to a command.
///
/// The kernel sends what is typed to the process group that has the terminal and to nobody else, so
/// a process of ours joins that group, ignores what it gets, and tells. It is not below the
/// command's guardian, and dies with the group at the latest. Loop thread only.
class KeyWitness {
 public:
  /// `typed` is told SIGINT or SIGQUIT; not any more once this is destroyed. Where the process
  /// cannot be started, nothing is told.
  KeyWitness(EventLoop& loop, const std::string& guardian, pid_t group,
             std::function<void(int)> typed);
  ~KeyWitness();
  KeyWitness(const KeyWitness&) = delete;
  KeyWitness& operator=(const KeyWitness&) = delete;

  /// The command has ended: tells what was typed before that, and is over then.
  void finish();

 private:
  void read();

  EventLoop& loop_;
  const std::function<void(int)> typed_;
  UniqueFd socket_;
  std::optional<Process> process_;
};

/// The first word on the guardian's command line that makes it a witness; the group follows.
inline constexpr const char* kWatchKeys = "keys";

/// The witness itself: returns its exit code. Expects the socket as guardian::kSocketFd.
[[nodiscard]] int watch_keys(pid_t group);

}  // namespace muster
