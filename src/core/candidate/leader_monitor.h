#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/strong.h"
#include "base/time.h"
#include "core/election/records.h"

namespace muster {

/// One leadership. A worker that leads again, or a new process with an old name, begins another.
struct LeaderRef {
  WorkerId worker;
  Incarnation incarnation;
  Epoch epoch;
  bool operator==(const LeaderRef&) const = default;
};

/// Why an observed leader leads no longer.
enum class DownCause {
  kReleased,     ///< It handed over, and confirmed that its work has stopped.
  kExpired,      ///< Its lease expired here, or the state that named it was lost.
  kReplaced,     ///< Another leadership has taken its place.
  kUnreachable,  ///< Its lease expired here while the store did not answer: it may be well.
};
[[nodiscard]] const char* to_string(DownCause cause);

/// The state of the leadership, as seen from here.
enum class LeaderView {
  kUnknown,      ///< Nothing has been read yet.
  kLed,          ///< Another node leads.
  kFree,         ///< There was no leader, or the last one released: no wait is due.
  kLapsed,       ///< A lease expired without a release: a takeover, after the delay.
  kUnreachable,  ///< A lease expired here, and the store does not answer.
};
[[nodiscard]] const char* to_string(LeaderView view);

struct LeaderUp {
  LeaderRef leader;
};
/// It has written its state again while observed: it is not a dead leader. Once for each.
struct LeaderAlive {
  LeaderRef leader;
};
struct LeaderWentDown {
  LeaderRef former;
  DownCause cause;
};
using MonitorEvent = std::variant<LeaderUp, LeaderAlive, LeaderWentDown>;

/// Observes the leadership of others: from what was read and when, it reports who appeared, who is
/// gone and why. It follows a leadership, not a name, so that it never observes one that is over.
/// Every leadership that it saw goes down exactly once, unless it comes back after the store was
/// unreachable. Pure. Threads: one.
class LeaderMonitor {
 public:
  explicit LeaderMonitor(Incarnation self) : self_(std::move(self)) {}

  /// The store answered: `state` is its content (none: nothing, or undecodable), `lost` that it had
  /// more before, `until` when its lease ends as seen from here.
  std::vector<MonitorEvent> observed(const std::optional<LeaderState>& state, bool lost,
                                     MonoTime until, MonoTime now);
  /// The store did not answer.
  std::vector<MonitorEvent> unanswered(MonoTime now);
  /// Time has passed; due at wake_at().
  std::vector<MonitorEvent> tick(MonoTime now);

  [[nodiscard]] LeaderView view() const { return view_; }
  [[nodiscard]] const std::optional<LeaderRef>& leader() const { return leader_; }
  [[nodiscard]] MonoTime wake_at() const { return leader_ ? until_ : MonoTime::max(); }

 private:
  void go_down(DownCause cause, std::vector<MonitorEvent>& events);

  Incarnation self_;
  std::optional<LeaderRef> leader_;  ///< The observed one.
  LeaderState written_;              ///< Its state when it was last read.
  bool alive_ = false;               ///< It has written another state since.
  MonoTime until_ = MonoTime::min();
  LeaderView view_ = LeaderView::kUnknown;
  bool answered_ = false;  ///< The last read of the store succeeded.
};

}  // namespace muster
