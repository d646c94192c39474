#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "candidate/guarded_command.h"
#include "candidate/process_test_scene.h"

namespace muster::testing {

/// A command under guard and what was heard of it.
struct GuardedCommandTest : ProcessScene {
  struct Heard {
    pid_t pid = 0;
    pid_t unkillable = 0;  // Also where a busy machine is slow to let die.
    bool over_when_told = false;
    std::optional<ExitStatus> gone;
    std::optional<Error> failed;
    bool lost = false;
    std::optional<GuardedCommand::Lost> how;
    pid_t leftover = 0;
    [[nodiscard]] bool over() const { return gone || failed || lost; }
  };

  std::unique_ptr<GuardedCommand> make() {
    heard = {};
    return std::make_unique<GuardedCommand>(
        loop, options,
        GuardedCommand::Callbacks{.started = [this](pid_t pid) { heard.pid = pid; },
                                  .unkillable =
                                      [this](pid_t pid) {
                                        heard.unkillable = pid;
                                        heard.over_when_told = heard.over();
                                      },
                                  .leftovers = [this](pid_t pid) { heard.leftover = pid; },
                                  .failed = [this](Error error) { heard.failed = error; },
                                  .gone = [this](ExitStatus status) { heard.gone = status; },
                                  .lost =
                                      [this](GuardedCommand::Lost how) {
                                        heard.lost = true;
                                        heard.how = how;
                                      }});
  }
  std::unique_ptr<GuardedCommand> start(const Command& command, Duration lease = 60s) {
    auto guarded = make();
    const Status started = guarded->start(command, Epoch(7), loop.now() + lease);
    EXPECT_TRUE(started);
    return guarded;
  }
  bool over() {
    return until([this] { return heard.over(); });
  }

  /// A child of the guardian that leads a session of its own; 0 when there is none yet.
  [[nodiscard]] static pid_t adopted_by(pid_t guardian) {
    ProcessTable table;
    table.look();
    for (const ProcessEntry& each : table.all()) {
      if (each.parent == guardian && each.session == each.pid) return each.pid;
    }
    return 0;
  }

  /// Waits, and hears nothing meanwhile.
  static bool without_loop(const std::function<bool()>& holds) {
    const MonoTime limit = boot_now() + 30s;
    while (!holds()) {
      if (boot_now() > limit) return false;
      ::sched_yield();
    }
    return true;
  }

  // Without a cgroup, wherever there could be one: what the process table shows must do.
  GuardianOptions options{.program = find_guardian(),
                          .kill_margin = 300ms,
                          .warning = 100ms,
                          .grace = 100ms,
                          .control_group = false};
  Heard heard;
};

}  // namespace muster::testing
