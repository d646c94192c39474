#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/candidate/leader_monitor.h"
#include "core/election/election.h"

namespace muster {

enum class CandidateState {
  kIneligible,    ///< Observes; also after stop(), or with work that cannot be ended.
  kStandby,       ///< Another node leads, or the store gives no answer.
  kTakeoverWait,  ///< A leader fell silent; it may return.
  kCampaigning,   ///< Tries to acquire, after a new read.
  kStarting,      ///< Leads; the work is not ready yet.
  kLeading,       ///< Leads, and the work is ready.
  kStopping,      ///< The work is being stopped, then the lease released.
  kBackoff,       ///< Does not campaign for a while after a bad term or a hand-over.
  kPaused,        ///< Does not campaign before resume().
};
[[nodiscard]] const char* to_string(CandidateState state);

/// Why a term ended.
enum class EndReason {
  kStopped,
  kSteppedDown,
  kPaused,
  kIneligible,   ///< No longer eligible; or an acquisition landed too late.
  kStartFailed,  ///< The work did not become ready.
  kWorkFailed,   ///< The work failed for good.
  kExpired,      ///< No renewal succeeded in time.
  kReplaced,
  kStateLost,
};
[[nodiscard]] const char* to_string(EndReason reason);

struct CandidateConfig {
  bool eligible = true;
  Duration takeover_delay = 1s;   ///< At least; at most a quarter more.
  Duration stop_budget = 1200ms;  ///< For stopping the work when the lease is not renewed.
  Duration orderly_stop{0};       ///< What the work needs while it is; no less than stop_budget.
  Duration kill_margin = 600ms;
  Duration release_timeout = 2400ms;  ///< Longest wait of an ending term for the store.
  Duration hold_off = 6s;             ///< No campaign for this time after a step-down.
  Duration backoff_min = 3s;          ///< Doubled for each short term, jittered down to half.
  Duration backoff_max = 1min;
  Duration stable_after = 1min;  ///< A term of this length resets the count of short terms.
};

/// The actions that the machine requests of its shell, in this order.
namespace candidate {
struct SetGate {
  bool open;  ///< May the election acquire?
};
struct StartWork {
  Epoch epoch;
};
struct StopWork {
  MonoTime by;  ///< All work must be gone by then, and before the deadline.
};
/// The term is over, whatever the work does: its deadline is now.
struct EndDeadline {};
struct Resign {
  bool receipt;  ///< The work is known to have stopped.
  std::optional<WorkerId> preferred;
  bool stop;  ///< Never campaign again.
};
/// For people: each reports something that happened exactly once.
struct StateChange {
  CandidateState from;
  CandidateState to;
};
struct TermBegan {
  Epoch epoch;
};
struct TermOver {
  Epoch epoch;
  EndReason reason;
  std::string detail;
};
struct Flapping {
  std::uint32_t short_terms;  ///< In a row.
  Duration backoff;
};
struct WorkStuck {
  Epoch epoch;
  bool running;  ///< It has not stopped in time; else it has, without a proof that all of it has.
};
struct Stopped {};

using Action = std::variant<SetGate, StartWork, StopWork, EndDeadline, Resign, StateChange,
                            TermBegan, TermOver, Flapping, WorkStuck, Stopped>;
}  // namespace candidate
using CandidateActions = std::vector<candidate::Action>;

/// Decides when one node runs leader-only work. Its input is the time, the
/// election's events, the state of the work, and commands. Guarantees: - work
/// starts only while leading, and never while earlier work of this node may run; -
/// the end of a term stops its work while the lease is still being renewed, and
/// only then releases the lease; a release with a receipt is requested only if the
/// work reported that it is gone; - if renewals fail, work is asked to stop early
/// enough to be gone before the deadline; - each term is reported once as begun
/// and once as over; - a silent leader gets the takeover delay on every path, and
/// a live one is left alone. Not guaranteed: that work ends when asked; the work
/// and its guardian must ensure that. Pure: no I/O, no clock, no locks. Threads:
/// one.
class CandidateMachine {
 public:
  CandidateMachine(CandidateConfig config, Random random);

  [[nodiscard]] CandidateState state() const { return state_; }
  [[nodiscard]] MonoTime wake_at() const;
  [[nodiscard]] std::optional<Epoch> epoch() const;
  /// From pause() to resume(), also while the work is still being stopped.
  [[nodiscard]] bool paused() const { return paused_; }
  /// The number of terms that ended badly before they were stable.
  [[nodiscard]] std::uint64_t short_terms() const { return short_terms_; }

  CandidateActions start(MonoTime now);
  CandidateActions tick(MonoTime now);

  // Input from the election and the monitor.
  CandidateActions see(LeaderView view, MonoTime now);
  CandidateActions became_leader(Epoch epoch, MonoTime deadline, MonoTime now);
  CandidateActions renewed(MonoTime deadline, MonoTime now);
  CandidateActions lost(LossReason reason, MonoTime now);
  CandidateActions resigned(MonoTime now);

  // Input from the work.
  CandidateActions work_ready(MonoTime now);
  CandidateActions work_failed(std::string why, MonoTime now);
  /// With `receipt` all work is known to be gone; without, some of it cannot be ended, and this
  /// node never leads again.
  CandidateActions work_stopped(bool receipt, MonoTime now);

  // Commands of operators. A repeated command changes nothing.
  CandidateActions pause(MonoTime now);
  CandidateActions resume(MonoTime now);
  CandidateActions step_down(std::optional<WorkerId> preferred, MonoTime now);
  CandidateActions stop(MonoTime now);
  CandidateActions set_eligible(bool eligible, MonoTime now);

 private:
  struct Term {
    Epoch epoch;
    MonoTime deadline;
    MonoTime began;
    bool lost = false;  ///< The election has ended it.
    bool reported_over = false;
  };
  /// The end of a term, from the order to stop its work until the store has the release.
  struct Ending {
    EndReason reason;
    std::string detail{};
    std::optional<WorkerId> preferred{};
    std::optional<MonoTime> overdue_at{};  ///< The work should be gone by then.
    std::optional<MonoTime> release_by{};  ///< Set once the release was requested.
    bool final = false;                    ///< That release is the last of this node.
    bool stuck_reported = false;
  };

  CandidateActions finish();
  void enter(CandidateState state);
  void gate(bool open);
  void settle(MonoTime now);
  [[nodiscard]] bool barred(MonoTime now) const;
  [[nodiscard]] bool working() const {
    return state_ == CandidateState::kStarting || state_ == CandidateState::kLeading;
  }
  [[nodiscard]] MonoTime lease_short_at() const;
  [[nodiscard]] MonoTime graceful_by(MonoTime now) const;
  void expire_if_short(MonoTime now);

  void end_term(EndReason reason, std::string detail, std::optional<WorkerId> preferred,
                MonoTime by, MonoTime now);
  void release(bool receipt, MonoTime now);
  void report_over();
  void report_stuck();
  void close_term(MonoTime now);
  void rest_after(EndReason reason, MonoTime now);
  void rest(CandidateState state, bool open);

  CandidateConfig config_;
  Random random_;
  CandidateState state_ = CandidateState::kIneligible;
  LeaderView view_ = LeaderView::kUnknown;
  std::optional<Term> term_;
  std::optional<Ending> ending_;
  std::optional<MonoTime> takeover_at_;
  MonoTime backoff_until_ = MonoTime::min();
  std::uint32_t short_in_a_row_ = 0;
  std::uint64_t short_terms_ = 0;
  bool started_ = false;
  bool gate_open_ = true;  ///< As the election begins.
  bool work_runs_ = false;
  bool stuck_ = false;
  bool paused_ = false;
  bool stop_asked_ = false;
  bool stopped_ = false;
  CandidateActions actions_;
};

}  // namespace muster
