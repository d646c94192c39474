#pragma once

#include <muster/leader.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace muster::api {
class SupervisorCore;
}

MUSTER_BEGIN_NAMESPACE

/// When a child that ended by itself is restarted.
enum class Restart : int {
  kAlways = 0,
  kOnFailure = 1,  ///< Unless it ended with success.
  kNever = 2,
};

/// Which children restart when one of them has failed.
enum class RestartScope : int {
  kThatOne = 0,
  kAll = 1,
  kThatAndLater = 2,  ///< That one and those after it.
};

/// A command or a task that runs during a term: give exactly one of `command` and `task`.
struct Child {
  std::string name{};  ///< Unique among its siblings.
  /// A program and its arguments, without a shell; a program without a slash is looked up in PATH.
  /// Needs the program muster-guardian, which ends the command even if this process is killed or
  /// frozen.
  std::vector<std::string> command{};
  /// Variables for the command, in addition to those of this process and MUSTER_EPOCH (the token),
  /// MUSTER_NAME, MUSTER_NODE and MUSTER_LEASE_DEADLINE.
  std::vector<std::pair<std::string, std::string>> environment{};
  std::string directory{};  ///< Of the command; empty: this process's.
  /// A function, called on a thread of its own. It must return soon after the stop was requested,
  /// and check the term before each effect. An error or an exception is a failure.
  std::function<Status(const Term& term, std::stop_token stop)> task{};

  Restart restart = Restart::kAlways;
  /// The time between SIGTERM and SIGKILL for a command, limited by the lease.
  Duration grace = Duration(5'000'000'000);
  /// The next children start when this one has run for this long.
  Duration ready_after = Duration(0);
  /// Runs to its end before the next children start. If it fails, so does run().
  bool setup = false;
};

/// An event of a child.
struct ChildEvent {
  enum class Kind : int {
    kStarted = 0,     ///< A command runs.
    kEnded = 1,       ///< It has ended, for any reason.
    kUnkillable = 2,  ///< A command was killed and still exists. An operator must act.
  };
  Kind kind = Kind::kStarted;
  std::string child{};
  std::int64_t pid = 0;   ///< Of a started command; also its process group.
  std::string message{};  ///< How it ended.
};

/// The outcome of run().
struct RunEnd {
  enum class Cause : int {
    kTermEnded = 0,  ///< The term was given up, or its lease was not renewed.
    kFinished = 1,   ///< No child is left to run.
    kFailed = 2,     ///< A child cannot be started, or restarts do not help.
  };
  Cause cause = Cause::kTermEnded;
  std::string child{};        ///< The first one that failed, or the last one that ended.
  std::optional<int> exit{};  ///< Of a command that has run: its code, or 128 + signal.
  std::string message{};      ///< One sentence.
  /// False: nothing proves that all processes of a command have ended. Then the lease expires
  /// instead of being released, and this candidate leads no more.
  bool proven = true;
};

struct SupervisorOptions {
  RestartScope scope = RestartScope::kThatOne;
  std::uint32_t restarts_max = 3;  ///< More than this many within the window are a failure.
  Duration restart_window = Duration(5'000'000'000);
  Duration backoff_min = Duration(100'000'000);  ///< Before a child's first restart, then doubled.
  Duration backoff_max = Duration(5'000'000'000);
  /// Path of muster-guardian. Empty: beside this program, in `../libexec/muster` from there, or
  /// where the package muster installs it.
  std::string guardian{};
  /// Called with the events of the children. On the callback thread.
  std::function<void(const ChildEvent&)> on_child{};
};

/// Runs commands and tasks during a term, restarts those that fail, and ends all of them before the
/// lease does:
///
///     auto billing = muster::Supervisor::make({{.name = "billing", .command = {"./billing"}}});
///     muster::lead(arbiter, "billing", stop, [&](const muster::Term& term) {
///       auto end = billing.value().run(term);
///     });
///
/// Commands are killed, with every process they have started, before the lease ends, even if this
/// process is frozen or killed. Without a renewal, children are asked to end early enough for it.
///
/// Not guaranteed: that a task ends. A thread cannot be killed: LeaderOptions::overrun decides what
/// happens if one still runs when the lease ends.
///
/// Threads: any. Copies share the description of the children.
class MUSTER_EXPORT Supervisor {
 public:
  /// kInvalid names the fault of a child; kUnsupported: muster-guardian is missing for a command;
  /// kNotFound, kDenied: a command does not exist, or cannot be executed.
  [[nodiscard]] static Result<Supervisor> make(std::vector<Child> children,
                                               SupervisorOptions options = {});
  Supervisor(const Supervisor&);
  Supervisor& operator=(const Supervisor&);
  ~Supervisor();

  /// Starts the children in order, and returns when all of them are gone: when the term ends, when
  /// no child is left to run, or when one has failed for good. kConflict: the term had already
  /// ended. kInvalid in a callback.
  ///
  /// When the term is given up, children are asked to end one after the other, the last one first,
  /// within LeaderOptions::stop_time.
  [[nodiscard]] Result<RunEnd> run(const Term& term) const;

 private:
  explicit Supervisor(std::shared_ptr<const muster::api::SupervisorCore> core);
  std::shared_ptr<const muster::api::SupervisorCore> core_;
};

MUSTER_END_NAMESPACE
