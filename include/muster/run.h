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

/// When a child that ended by itself is started again.
enum class Restart : int {
  kAlways = 0,
  kOnFailure = 1,  ///< Unless it ended with success.
  kNever = 2,
};

/// Which children start anew when one of them has failed.
enum class RestartScope : int {
  kThatOne = 0,
  kAll = 1,
  kThatAndLater = 2,  ///< That one and those after it.
};

/// A command or a task that runs during a term: exactly one of `command` and `task` is given.
struct Child {
  std::string name{};  ///< Unique among its siblings.
  /// A program and its arguments. No shell is in between; a program without a slash is looked up in
  /// PATH. Needs the program muster-guardian, which ends the command even if this process is killed
  /// or frozen.
  std::vector<std::string> command{};
  /// Set for the command, besides the variables of this process and MUSTER_EPOCH (the token),
  /// MUSTER_NAME, MUSTER_NODE and MUSTER_LEASE_DEADLINE.
  std::vector<std::pair<std::string, std::string>> environment{};
  std::string directory{};  ///< Of the command; empty: that of this process.
  /// A function, called on a thread of its own. It returns soon after the stop was requested and
  /// asks the term before each effect. An error or an exception is a failure.
  std::function<Status(const Term& term, std::stop_token stop)> task{};

  Restart restart = Restart::kAlways;
  /// From the request to end (SIGTERM) until a command is killed, at most what the lease leaves.
  Duration grace = Duration(5'000'000'000);
  /// Children after this one are started when it has run for so long.
  Duration ready_after = Duration(0);
  /// Runs to its end before the children after it are started. If it fails, so does run().
  bool setup = false;
};

/// What a supervisor has to tell of a child.
struct ChildEvent {
  enum class Kind : int {
    kStarted = 0,     ///< A command runs.
    kEnded = 1,       ///< It has ended, for whatever reason.
    kUnkillable = 2,  ///< A command was killed and is still there. An operator must look.
  };
  Kind kind = Kind::kStarted;
  std::string child{};
  std::int64_t pid = 0;   ///< Of a command that was started; also its process group.
  std::string message{};  ///< How it ended.
};

/// How run() ended.
struct RunEnd {
  enum class Cause : int {
    kTermEnded = 0,  ///< The term was given up, or its lease was not renewed.
    kFinished = 1,   ///< No child is left that is to run.
    kFailed = 2,     ///< A child cannot be started, or restarting it does not help.
  };
  Cause cause = Cause::kTermEnded;
  std::string child{};        ///< The first one that failed, or the last one that ended.
  std::optional<int> exit{};  ///< Of a command that has run: what a shell would say, 128 + signal.
  std::string message{};      ///< One sentence.
  /// False: nothing proves that all of a command has ended. The lease is not released but left to
  /// run out, and this candidate leads no more.
  bool proven = true;
};

struct SupervisorOptions {
  RestartScope scope = RestartScope::kThatOne;
  std::uint32_t restarts_max = 3;  ///< More than this many within the window are a failure.
  Duration restart_window = Duration(5'000'000'000);
  Duration backoff_min = Duration(100'000'000);  ///< Before a child's first restart, then doubled.
  Duration backoff_max = Duration(5'000'000'000);
  /// Path of muster-guardian. Empty: beside this program, in `../libexec/muster` from there, or
  /// where the package muster has it.
  std::string guardian{};
  /// Told what becomes of the children. On the callback thread.
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
/// Commands are killed with everything they have started, before the lease ends, also when this
/// process is frozen or killed. Without a renewal children are asked to end early enough for that.
///
/// Not guaranteed: that a task ends. A thread cannot be killed: LeaderOptions::overrun says what
/// becomes of one that still runs when the lease ends.
///
/// Threads: any. Copies share the description of the children.
class MUSTER_EXPORT Supervisor {
 public:
  /// kInvalid says what is wrong with a child; kUnsupported: there are commands, and
  /// muster-guardian is not there; kNotFound, kDenied: a command is not, or cannot be executed.
  [[nodiscard]] static Result<Supervisor> make(std::vector<Child> children,
                                               SupervisorOptions options = {});
  Supervisor(const Supervisor&);
  Supervisor& operator=(const Supervisor&);
  ~Supervisor();

  /// Starts the children in their order, and returns when all of them are gone: when the term ends,
  /// when none is left to run, or when one has failed for good. kConflict: the term has ended
  /// before. kInvalid in a callback.
  ///
  /// When the term is given up, children are asked to end one after the other, the last one first,
  /// for LeaderOptions::stop_time at most.
  [[nodiscard]] Result<RunEnd> run(const Term& term) const;

 private:
  explicit Supervisor(std::shared_ptr<const muster::api::SupervisorCore> core);
  std::shared_ptr<const muster::api::SupervisorCore> core_;
};

MUSTER_END_NAMESPACE
