#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "core/lock/lock_handle.h"
#include "elector/lock_memory.h"
#include "elector/lock_taker.h"
#include "muster/v1/lock.pb.h"
#include "rpc/call.h"
#include "server/api/local_store.h"
#include "server/api/lock_view.h"

namespace muster::server {

/// Which session wants which lock, and how; checked.
struct LockWish {
  std::string name;
  std::string prefix;  ///< Of the keys: empty, or with a '/' at the end.
  Incarnation session;
  WorkerId holder;
  LockShape shape;
  bool writes = false;
  Duration ttl{0};

  /// kInvalid names the field and its rule.
  [[nodiscard]] static Result<LockWish> from(const v1::LockAcquireRequest& request);
  /// Of a lock that the session has taken before.
  [[nodiscard]] static Result<LockWish> from(const std::string& name, const std::string& session,
                                             const std::string& prefix, const LockHandle& handle);
  /// Of the lock.
  [[nodiscard]] std::string key() const { return prefix + name; }
  bool operator==(const LockWish&) const = default;
};

/// One session's part in one lock: the calls of the client, and a LockTaker that acts for it. The
/// client is the holder: the lock is renewed only because of its calls, and is given back only when
/// it says so, or before it has heard that it holds the lock.
///
/// Threads: loop thread only. Deps are not called from within start functions and calls of the
/// owner, but later.
class LockSeat {
 public:
  struct Deps {
    Cluster& cluster;
    LockMemory& memory;
    Random random;
    /// The place of the session in the order; 0: none.
    std::function<std::size_t()> place;
    /// No call waits any more: for now, or because the wait is over.
    std::function<void(bool for_good)> absent;
    /// The session holds the lock.
    std::function<void(bool resumed)> held;
    /// The session does not hold the lock, and nothing is done for it. `asks`: a call waits for the
    /// lock still, and could not go on with what the session held.
    std::function<void(bool asks)> ended;
  };

  LockSeat(LockWish wish, Deps deps);
  ~LockSeat();

  [[nodiscard]] const LockWish& wish() const { return wish_; }
  [[nodiscard]] bool holds() const { return phase_ == Phase::kHeld; }
  /// Neither holds the lock nor competes for it.
  [[nodiscard]] bool idle() const { return phase_ == Phase::kIdle; }
  /// A call waits for the lock.
  [[nodiscard]] bool asks() const { return waiting_ != nullptr; }
  /// That call does not want to wait.
  [[nodiscard]] bool once() const { return once_; }
  /// The permits that it holds or goes on with.
  [[nodiscard]] std::vector<HeldPermit> permits() const {
    return holds() ? taker_->holds_by() : resumed_;
  }
  /// Gives back what it has: no more calls may be passed to it.
  [[nodiscard]] bool ending() const { return phase_ == Phase::kEnding; }

  /// The client asks for the lock. A call that waits already is answered.
  void acquire(const rpc::CallPtr& call, Duration wait);
  /// It is the session's turn.
  void compete();
  /// The session has taken the lock before, perhaps at another server.
  void resume(std::vector<HeldPermit> permits);
  /// Requires: holds(), or resume() was called.
  void renew(const rpc::CallPtr& call);
  void release(const rpc::CallPtr& call);
  /// Likewise, for a session that resume() is called for next.
  void release_after(const rpc::CallPtr& call) { releases_.push_back(call); }
  /// The session does not wait any more.
  void leave(const rpc::RpcStatus& status);
  /// Leaves everything as it is: another server goes on. Nothing is called afterwards.
  void drop(const rpc::RpcStatus& status);

 private:
  enum class Phase { kIdle, kCompeting, kResuming, kHeld, kEnding, kEnded };
  /// A call to be answered when a renewal that was sent after it is confirmed.
  struct Renewal {
    rpc::CallPtr call;
    MonoTime received;
    bool acquires;
  };

  void start(std::vector<HeldPermit> resumed);
  void tell();
  void keep_telling();
  void answer_waiting();
  void expect(Renewal renewal);
  void on_held(std::shared_ptr<const LeaseGuard> guard);
  void on_renewed(MonoTime until);
  void on_lost(const Error& why);
  void on_end(const std::optional<Status>& how);
  void grant(const Renewal& renewal, Duration left);
  void give_back();
  void finish_all(const rpc::RpcStatus& status);
  void answer_releases(const std::optional<Status>& how);
  [[nodiscard]] LockView view() const;
  [[nodiscard]] rpc::RpcStatus not_held() const;
  template <typename F>
  void later(F what) {
    loop_.post(lifetime_.wrap(std::move(what)));
  }

  const LockWish wish_;
  Cluster& cluster_;
  Deps deps_;
  Loop& loop_;
  LocalStore store_;
  Phase phase_ = Phase::kIdle;
  std::unique_ptr<LockTaker> taker_;
  std::shared_ptr<const LeaseGuard> guard_;
  std::vector<HeldPermit> resumed_;
  bool known_to_client_ = false;  ///< The client was told that it holds the lock.

  rpc::CallPtr waiting_;  ///< The call that asks for the lock.
  MonoTime asked_at_{};
  MonoTime wait_until_{};
  bool once_ = false;
  Timer answer_;     ///< The call that waits is answered then, whatever the answer is.
  Timer tell_;       ///< The client is there: a call of its waits.
  Timer unclaimed_;  ///< A lock that the client has not heard of is given back then.
  std::list<Renewal> renewals_;
  std::list<rpc::CallPtr> releases_;
  Lifetime lifetime_;
};

}  // namespace muster::server
