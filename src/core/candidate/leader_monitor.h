#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/strong.h"
#include "base/time.h"
#include "core/election/records.h"

namespace muster {

/// One leadership. A worker that leads again, or a new process with an old name, is another one.
struct LeaderRef {
  WorkerId worker;
  Incarnation incarnation;
  Epoch epoch;
  bool operator==(const LeaderRef&) const = default;
};

/// Why a leader that was watched is one no more.
enum class DownCause {
  kReleased,     ///< It gave up in order, and says that its work has stopped.
  kExpired,      ///< Its lease ran out here, or the state that named it was lost.
  kReplaced,     ///< Another leadership stands in its place.
  kUnreachable,  ///< Its lease ran out here while the store did not answer: it may be well.
};
[[nodiscard]] const char* to_string(DownCause cause);

/// The place of the leader, as seen from here.
enum class LeaderView {
  kUnknown,      ///< Nothing was read yet.
  kLed,          ///< Somebody else leads.
  kFree,         ///< Nobody has ever led, or the last one released: no wait is due.
  kLapsed,       ///< A lease ran out without a release: a takeover, which is not to be hurried.
  kUnreachable,  ///< A lease ran out here, and the store does not answer.
};
[[nodiscard]] const char* to_string(LeaderView view);

struct LeaderUp {
  LeaderRef leader;
};
/// It has written its state anew while it was watched: it is no dead leader's name. Once for each.
struct LeaderAlive {
  LeaderRef leader;
};
struct LeaderWentDown {
  LeaderRef former;
  DownCause cause;
};
using MonitorEvent = std::variant<LeaderUp, LeaderAlive, LeaderWentDown>;

/// Watches the leadership of others: told what was read and when, it says who appeared, who is
/// gone and why. It follows a leadership, not a name, so that it never watches one that is over.
/// Every leadership it saw goes down exactly once, unless it comes back after the store could not
/// be reached. Pure; one thread.
class LeaderMonitor {
 public:
  explicit LeaderMonitor(Incarnation self) : self_(std::move(self)) {}

  /// The store answered: `state` is what stands there (none: nothing, or nothing that decodes),
  /// `lost` that it once held more, `until` when its lease ends as seen from here.
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
  std::optional<LeaderRef> leader_;  ///< The one that is watched.
  LeaderState written_;              ///< What it was last seen to have written.
  bool alive_ = false;               ///< It was seen to write something else after that.
  MonoTime until_ = MonoTime::min();
  LeaderView view_ = LeaderView::kUnknown;
  bool answered_ = false;  ///< The last look at the store succeeded.
};

}  // namespace muster
