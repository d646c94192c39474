#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "base/time.h"

namespace muster {

/// Which children restart when one of them has failed.
enum class RestartStrategy {
  kOneForOne,   ///< The failed one.
  kOneForAll,   ///< All of them.
  kRestForOne,  ///< That one and those after it.
};

/// When a child that ended by itself is restarted.
enum class RestartPolicy {
  kPermanent,  ///< Always.
  kTransient,  ///< Unless it ended with success.
  kTemporary,  ///< Never, not even if a sibling's restart has stopped it.
};

/// The rules for one child.
struct ChildRules {
  RestartPolicy restart = RestartPolicy::kPermanent;
  /// Between TERM and KILL; empty: KILL at once.
  std::optional<Duration> shutdown = 5s;
  /// A started child is ready after running this long; empty: it reports that itself.
  std::optional<Duration> ready_after = 0s;
  /// Runs to its end, once per term, before the next children start; if it fails, so does the tree.
  /// Its restart policy and readiness are ignored.
  bool setup = false;
  /// A setup that takes longer has failed; empty: no limit.
  std::optional<Duration> timeout{};
};

struct SupervisionOptions {
  RestartStrategy strategy = RestartStrategy::kOneForOne;
  std::uint32_t restarts_max = 3;  ///< More than this many within the window fail the tree.
  Duration restart_window = 5s;
  Duration backoff_min = 100ms;  ///< Before a child's first restart; doubled for each further one.
  Duration backoff_max = 5s;
  Duration stable_after = 10s;  ///< A child ready for this long starts again at backoff_min.
  /// A child that is not ready by then has failed to start. For a setup, until it runs.
  Duration start_timeout = 10s;
  Duration stop_budget = 1200ms;  ///< The time of a clean stop before the deadline's KILL.
  Duration kill_margin = 600ms;   ///< Every child is sent KILL this long before the deadline.
};

/// Why a tree ended.
enum class EndCause {
  kRequested,          ///< stop() was called.
  kDeadline,           ///< The lease was not renewed in time.
  kFinished,           ///< No child is left to run; names the first that failed, if any.
  kRestartsExhausted,  ///< Restarts do not help.
  kStartFailed,        ///< A child cannot be started, or was not ready in time.
  kLost,               ///< Nothing proves any more that a child is gone.
};

[[nodiscard]] const char* to_string(EndCause cause);

/// The actions for the caller, in this order.
struct SupervisionAction {
  enum class Kind {
    kStart,       ///< Start `child`, then tell child_started() or child_failed_to_start().
    kTerminate,   ///< Ask `child` to end.
    kKill,        ///< Kill `child`.
    kReady,       ///< Every child is ready. At most once.
    kEnding,      ///< The tree is being stopped for `cause`. Exactly once.
    kEnded,       ///< No child is left. Exactly once, the last action.
    kUnkillable,  ///< `child` was killed and still exists; the tree cannot end before it does.
  };
  static constexpr std::size_t kNoChild = std::numeric_limits<std::size_t>::max();

  Kind kind;
  std::size_t child = kNoChild;  ///< With kEnding: the child that caused it, if one did.
  EndCause cause = EndCause::kRequested;

  bool operator==(const SupervisionAction&) const = default;
};
using SupervisionActions = std::vector<SupervisionAction>;

/// Decides when the children of one term are started, stopped and restarted.
///
/// Guarantees: a child is started only when all before it are ready or will not run; never while an
/// instance of it lives; never after a stop began. Children are stopped one by one, the last first,
/// each with its own grace while the lease is renewed. The lease deadline overrides every timeout:
/// without a renewal the stop begins by itself at deadline − kill_margin − stop_budget, and at
/// deadline − kill_margin all remaining children are killed at once, in no order. From the first of
/// these moments on, or if the caller requests an earlier end than all graces allow, time is short:
/// the children share it, so that none is killed unasked because another was slow. A stop that has
/// begun is never undone, even if a renewal arrives after all.
///
/// Not guaranteed: that children die. It asks them to, and reports which one did not. One use per
/// term. Pure: the caller passes the time; no I/O, no locks. Threads: one.
class Supervision {
 public:
  Supervision(SupervisionOptions options, std::vector<ChildRules> rules);

  [[nodiscard]] SupervisionActions start(MonoTime deadline, MonoTime now);
  /// All children must be gone by `by`; an earlier `by` replaces a later one.
  [[nodiscard]] SupervisionActions stop(MonoTime by, MonoTime now);
  [[nodiscard]] SupervisionActions deadline_moved(MonoTime deadline, MonoTime now);
  [[nodiscard]] SupervisionActions tick(MonoTime now);

  [[nodiscard]] SupervisionActions child_started(std::size_t child, MonoTime now);
  [[nodiscard]] SupervisionActions child_failed_to_start(std::size_t child, MonoTime now);
  [[nodiscard]] SupervisionActions child_ready(std::size_t child, MonoTime now);
  /// The child and all processes that it left behind are gone.
  [[nodiscard]] SupervisionActions child_exited(std::size_t child, bool success, MonoTime now);
  /// The child was killed, but nothing proves its end. Fails the tree.
  [[nodiscard]] SupervisionActions child_lost(std::size_t child, MonoTime now);

  /// The child was killed, and still exists. Fails the tree.
  [[nodiscard]] SupervisionActions child_stuck(std::size_t child, MonoTime now);

  /// When tick() has work; nothing if only an event can change anything.
  [[nodiscard]] std::optional<MonoTime> next_tick() const;
  [[nodiscard]] bool ended() const { return phase_ == Phase::kEnded; }

 private:
  using Kind = SupervisionAction::Kind;
  enum class Phase { kNew, kUp, kStopping, kEnded };
  enum class State { kAbsent, kStarting, kStarted, kReady, kTerminating, kKilled };
  struct Child {
    ChildRules rules;
    State state = State::kAbsent;
    MonoTime since{};       ///< When it entered its state.
    MonoTime kill_at{};     ///< While terminating.
    MonoTime restart_at{};  ///< While absent: not started before.
    Duration backoff{0};    ///< The wait of its last restart.
    bool wanted = true;     ///< It should run, now or after a restart.
    bool halting = false;   ///< Being stopped because of a sibling.
    bool unkillable = false;
  };

  [[nodiscard]] bool alive(const Child& child) const { return child.state != State::kAbsent; }
  [[nodiscard]] MonoTime stop_at() const;
  [[nodiscard]] MonoTime kill_all_at() const;
  [[nodiscard]] Duration grace(const Child& child, MonoTime now) const;
  void enter(Child& child, State state, MonoTime now);
  void restart(std::size_t failed, MonoTime now);
  void begin_stop(EndCause cause, std::size_t child);
  void stop_if_due(MonoTime now);
  SupervisionActions advance(MonoTime now);
  void settle(MonoTime now);
  void halt(MonoTime now);
  void kill(std::size_t i, MonoTime now);
  void report_unkillable(MonoTime now);
  void start_next(MonoTime now);
  [[nodiscard]] std::optional<MonoTime> next_of(const Child& child) const;

  const SupervisionOptions options_;
  std::vector<Child> children_;
  Phase phase_ = Phase::kNew;
  bool ready_ = false;
  bool lease_short_ = false;  ///< At the last event: without a renewal it is time to stop.
  std::size_t failed_ = SupervisionAction::kNoChild;  ///< The first that failed for good.
  MonoTime deadline_ = MonoTime::max();
  MonoTime stop_by_ = MonoTime::max();
  std::deque<MonoTime> restarts_;  ///< Within the window; at most restarts_max + 1.
  SupervisionActions actions_;     ///< Of the call in progress.
};

}  // namespace muster
