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
  /// Of no term: never valid.
  Term();

  /// True while the lease holds, compared with the clock at this moment, and this process has not
  /// begun to give it up. Once false it stays false.
  [[nodiscard]] bool valid() const;
  /// Higher than that of every earlier term of this election name; 0 of no term.
  [[nodiscard]] Token token() const;
  /// How long the lease holds without another renewal; zero once it has ended.
  [[nodiscard]] Duration left() const;
  /// Requested when the work should stop: the term is being given up, or the lease has not been
  /// renewed for so long that work must begin to stop now to be done before it ends. Functions of a
  /// std::stop_callback run on the callback thread.
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
  std::string value;  ///< What it published with LeaderOptions::value, an address for example.
  Token token = 0;
};

/// What to do with work that still holds its term when the lease ends.
enum class Overrun : int {
  kReport = 0,  ///< Tell on_trouble. Another process may lead meanwhile.
  kExit = 1,    ///< End this process at once, without destructors, with exit code 71.
};

struct LeaderOptions {
  /// The name of this candidate: letters, digits, dashes, underscores, dots, colons and at signs,
  /// at most 128, unique within the election. Empty: host name and process id.
  std::string id{};
  /// Published while this process leads, for everybody who asks for the leader: UTF-8, at most
  /// 1024 bytes.
  std::string value{};
  /// A leader that was silent for this long may be replaced. Others wait for as long as the holder
  /// wrote, so that candidates with different leases can take part. At least 100 ms.
  Duration lease = Duration(6'000'000'000);
  /// How long the work may take to stop while the lease is renewed, when a term is given up. 0: a
  /// fifth of the lease, at most 5 s, which is also what it is given when renewals fail.
  Duration stop_time = Duration(0);
  /// False: sees who leads and never campaigns.
  bool campaigns = true;
  Overrun overrun = Overrun::kReport;
  /// Called when the leader that is seen from here has changed; nullopt: nobody is known to lead.
  /// On the callback thread.
  std::function<void(const std::optional<Leader>&)> on_change{};
  /// Called with what an operator should know: the store is unreachable (once until it answers
  /// again), another process has the same id, work did not stop in time. On the callback thread.
  std::function<void(const Error&)> on_trouble{};
};

/// This process's part in one election, from stand() to stop() or the end of the object.
///
/// Campaigns all the time: again after each term, unless it was stopped. Several objects
/// may stand for several names, or under different ids for one name. After the end of one the same
/// name may be stood for again, with the same arbiter.
///
/// Destroying it is stop(). In a callback it does not wait.
///
/// Threads: any, but the object is moved and destroyed by one at a time. stop() and wait() are
/// refused with kInvalid in a callback, which they would wait for.
class MUSTER_EXPORT Leadership {
 public:
  /// Begins to take part and returns at once. kInvalid says which option is wrong.
  [[nodiscard]] static Result<Leadership> stand(const Arbiter& arbiter, const std::string& name,
                                                LeaderOptions options = {});
  Leadership(Leadership&&) noexcept;
  Leadership& operator=(Leadership&&) noexcept;
  ~Leadership();

  /// The term of this process; not valid if it does not lead. Holds the lease as every Term does.
  [[nodiscard]] Term term() const;
  /// The leader as last seen, this process included; nullopt while nobody is known to lead.
  [[nodiscard]] std::optional<Leader> leader() const;
  /// Waits until this process leads, and returns the term.
  /// kTimeout after `at_most`; kCancelled when `stop` is requested or this object is stopped;
  /// kUnsupported when the store cannot judge an election.
  [[nodiscard]] Result<Term> wait(std::stop_token stop = {}, Duration at_most = Duration::max());
  /// Hands over: the work is asked to stop, the lease is released, to the candidate with the id
  /// `prefer` if it lives, and this process does not campaign for the time of a lease. Returns at
  /// once. kConflict when this process does not lead.
  Status step_down(const std::string& prefer = {});
  /// Asks the work to stop, waits until it has returned (at most LeaderOptions::stop_time and a
  /// tenth of the lease), releases the lease and leaves. No callback runs after it has returned.
  /// Again: nothing.
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
/// `work` returns soon after term.valid() is false; then this process campaigns again. If it
/// returns while the term is valid, the work is finished: the lease is released and lead() returns.
/// What `work` throws comes out of lead() after the lease was released.
///
/// Returns: success when `stop` was requested or the work is finished; otherwise why this process
/// cannot take part (kInvalid: an option is wrong; kUnsupported: the store cannot judge an
/// election). A store that is unreachable is waited for.
MUSTER_EXPORT Status lead(const Arbiter& arbiter, const std::string& name, std::stop_token stop,
                          const std::function<void(const Term&)>& work, LeaderOptions options = {});

MUSTER_END_NAMESPACE
