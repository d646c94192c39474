#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "base/strong.h"
#include "candidate/guarded_command.h"
#include "platform/event_loop.h"

namespace muster::cli {

/// A shell command that is told of something and is no leader-only work. It has a guardian of its
/// own: kTimeout after its start it is killed with everything it has started, which also ends with
/// it, and with this process. Destroying it earlier kills it, too. It reads nothing, and what it
/// prints goes to standard error. Loop thread only.
class Hook {
 public:
  static constexpr Duration kTimeout = 10s;

  /// `done` comes once, on the loop; an error says how the hook failed. It may destroy this.
  Hook(EventLoop& loop, std::string name, const std::string& text, Epoch epoch,
       std::vector<std::string> environment, std::function<void(Status)> done);
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

 private:
  void ended(ExitStatus status);

  EventLoop& loop_;
  const std::string name_;
  const MonoTime late_;
  std::function<void(Status)> done_;
  Lifetime lifetime_;
  GuardedCommand command_;
};

/// The hooks of this node: one at a time, in the order in which they were asked for. Loop thread
/// only.
class HookQueue {
 public:
  /// `failed` is told how one failed, `idle` when none is left.
  HookQueue(EventLoop& loop, std::function<void(const std::string&)> failed,
            std::function<void()> idle)
      : loop_(loop), failed_(std::move(failed)), idle_(std::move(idle)) {}

  void add(std::string name, std::string text, Epoch epoch, std::vector<std::string> environment);
  [[nodiscard]] bool idle() const { return !running_ && waiting_.empty(); }

 private:
  struct Waiting {
    std::string name;
    std::string text;
    Epoch epoch;
    std::vector<std::string> environment;
  };
  void next();

  EventLoop& loop_;
  const std::function<void(const std::string&)> failed_;
  const std::function<void()> idle_;
  std::list<Waiting> waiting_;
  std::unique_ptr<Hook> running_;
  Lifetime lifetime_;
};

}  // namespace muster::cli
