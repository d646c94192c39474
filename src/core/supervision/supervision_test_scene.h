#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/supervision/supervision.h"

namespace muster::testing {

/// A tree whose children do what the test says, and the story of what was asked of them:
/// "start 0", "term 2", "kill 1", "ready", "ending deadline", "ended".
class SupervisionScene {
 public:
  static constexpr MonoTime kBegin{1000s};
  static constexpr MonoTime kFar{100'000s};

  SupervisionScene(SupervisionOptions options, std::vector<ChildRules> rules)
      : tree(options, std::move(rules)) {}

  void note(const SupervisionActions& actions) {
    for (const SupervisionAction& action : actions) {
      if (!story_.empty()) story_ += ", ";
      story_ += describe(action);
      if (action.kind == SupervisionAction::Kind::kStart && start_by_themselves) {
        note(tree.child_started(action.child, now));
      }
    }
  }
  /// What happened since the last call.
  std::string story() { return std::exchange(story_, {}); }

  void start(MonoTime deadline = kFar) { note(tree.start(deadline, now)); }
  void exits(std::size_t child, bool success = false) {
    note(tree.child_exited(child, success, now));
  }
  /// Lets the time pass, with every tick on the way.
  void pass(Duration d) {
    const MonoTime end = now + d;
    for (auto next = tree.next_tick(); next && *next <= end; next = tree.next_tick()) {
      now = std::max(now, *next);
      note(tree.tick(now));
    }
    now = end;
  }

  static std::string describe(const SupervisionAction& action) {
    using Kind = SupervisionAction::Kind;
    const std::string child = std::to_string(action.child);
    switch (action.kind) {
      case Kind::kStart:
        return "start " + child;
      case Kind::kTerminate:
        return "term " + child;
      case Kind::kKill:
        return "kill " + child;
      case Kind::kReady:
        return "ready";
      case Kind::kEnding:
        return std::string("ending ") + to_string(action.cause);
      case Kind::kEnded:
        return "ended";
      case Kind::kUnkillable:
        return "unkillable " + child;
    }
    return "?";
  }

  Supervision tree;
  MonoTime now = kBegin;
  bool start_by_themselves = true;

 private:
  std::string story_;
};

}  // namespace muster::testing
