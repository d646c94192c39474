#pragma once

#include <muster/arbiter.h>
#include <muster/status.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace muster::api {
class LeadershipCore;
class TermHold;
}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

/// One term of leadership: permission to work for as long as it is valid.
///
/// A handle: the lease of a term is released when the last copy is gone, so that the successor
/// starts at once and never beside work that still holds one. While copies remain, a successor
/// waits until the lease has expired.
///
/// Not guaranteed: that work has stopped when the lease ends. A thread that was paused between
/// asking valid() and acting acts late. What must never happen twice carries token() to the
/// resource, and the resource refuses lower ones (fence.h).
///
/// Threads: any.
class MUSTER_EXPORT Term {
 public:
  /// No term: never valid.
  Term();

  /// True while the lease holds, compared with the clock now, and this process has not begun to
  /// give it up. Once false it stays false.
  [[nodiscard]] bool valid() const;
  /// Higher than the token of every earlier term of this election; 0 without a term.
  [[nodiscard]] Token token() const;
  /// The time until the lease ends without another renewal; zero once it has ended.
  [[nodiscard]] Duration left() const;
  /// Stop is requested when the work should stop: the term is being given up, or renewals have
  /// failed for so long that work must begin to stop now to be done before the lease ends.
  /// Functions of a std::stop_callback run on the callback thread.
  [[nodiscard]] std::stop_token stopping() const;

 private:
  friend class muster::api::LeadershipCore;
  friend class muster::api::TermHold;
  explicit Term(std::shared_ptr<muster::api::TermHold> hold);
  std::shared_ptr<muster::api::TermHold> hold_;
};

/// A leader as last seen from here.
struct Leader {
  std::string id;
  std::string value;  ///< Its LeaderOptions::value, for example an address.
  Token token = 0;
};

/// The reaction to work that still holds its term when the lease ends.
enum class Overrun : int {
  kReport = 0,  ///< Call on_trouble. Another process may lead meanwhile.
  kExit = 1,    ///< End this process at once, without destructors, with exit code 71.
};

struct LeaderOptions {
  /// The name of this candidate: letters, digits, dashes, underscores, dots, colons and at signs,
  /// at most 128, unique within the election. Empty: host name and process id.
  std::string id{};
  /// Published while this process leads, for all who look up the leader: UTF-8, at most 1024
  /// bytes.
  std::string value{};
  /// A leader that was silent for this long may be replaced. Others wait for the holder's own
  /// value, so candidates with different leases can take part. At least 100 ms.
  Duration lease = Duration(6'000'000'000);
  /// The time that the work may take to stop while the lease is renewed, when a term is given up.
  /// 0: a fifth of the lease, at most 5 s, which is also its time if renewals fail.
  Duration stop_time = Duration(0);
  /// False: observes the leader and never campaigns.
  bool campaigns = true;
  Overrun overrun = Overrun::kReport;
  /// Called when the observed leader has changed; nullopt: no leader is known. On the callback
  /// thread.
  std::function<void(const std::optional<Leader>&)> on_change{};
  /// Called with news for an operator: the store is unreachable (once until it answers again),
  /// another process has the same id, work did not stop in time. On the callback thread.
  std::function<void(const Error&)> on_trouble{};
};

/// This process's part in one election, from stand() to stop() or the end of the object.
///
/// Campaigns all the time: again after each term, unless it was stopped. Several objects may take
/// part in several elections, or in one election under different ids. After the end of one, another
/// may take part in the same election, with the same arbiter.
///
/// The destructor is stop(). In a callback it does not wait.
///
/// Threads: any, but only one may move or destroy the object. stop() and wait() are refused with
/// kInvalid in a callback, for which they would wait.
class MUSTER_EXPORT Leadership {
 public:
  /// Begins to take part and returns at once. kInvalid names the wrong option.
  [[nodiscard]] static Result<Leadership> stand(const Arbiter& arbiter, const std::string& name,
                                                LeaderOptions options = {});
  Leadership(Leadership&&) noexcept;
  Leadership& operator=(Leadership&&) noexcept;
  ~Leadership();

  /// The term of this process; not valid if it does not lead. Holds the lease like every Term.
  [[nodiscard]] Term term() const;
  /// The leader as last seen, which may be this process; nullopt if no leader is known.
  [[nodiscard]] std::optional<Leader> leader() const;
  /// Waits until this process leads, and returns the term.
  /// kTimeout after `at_most`; kCancelled when `stop` is requested or this object is stopped;
  /// kUnsupported when the store cannot judge an election.
  [[nodiscard]] Result<Term> wait(std::stop_token stop = {}, Duration at_most = Duration::max());
  /// Hands over: asks the work to stop, then releases the lease, to the candidate with the id
  /// `prefer` if it is alive. This process does not campaign for 5 s, or for a heartbeat if that is
  /// longer, but never for more than a lease. Returns at once. kConflict if this process does not
  /// lead.
  Status step_down(const std::string& prefer = {});
  /// Asks the work to stop, waits until it has returned (at most LeaderOptions::stop_time and a
  /// tenth of the lease), releases the lease and leaves the election. No callback runs afterwards.
  /// A second call has no effect.
  Status stop();
  /// The name of this candidate.
  [[nodiscard]] std::string id() const;

 private:
  explicit Leadership(std::shared_ptr<muster::api::LeadershipCore> core);
  std::shared_ptr<muster::api::LeadershipCore> core_;
};

/// Calls `work` on this thread each time this process leads `name`, until `stop` is requested.
/// `stop` may be requested by a signal handler.
///
/// `work` must return soon after term.valid() is false; then this process campaigns again. If it
/// returns while the term is valid, the work is finished: the lease is released and lead() returns.
/// An exception of `work` leaves lead() after the lease was released.
///
/// Returns: success if `stop` was requested or the work is finished; otherwise why this process
/// cannot take part (kInvalid: an option is wrong; kUnsupported: the store cannot judge an
/// election). It waits for an unreachable store.
MUSTER_EXPORT Status lead(const Arbiter& arbiter, const std::string& name, std::stop_token stop,
                          const std::function<void(const Term&)>& work, LeaderOptions options = {});

MUSTER_END_NAMESPACE
