#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "core/lock/lock_machine.h"
#include "core/lock/lock_records.h"
#include "elector/election_driver.h"
#include "elector/lease_guard.h"
#include "elector/lock_memory.h"
#include "elector/store_failures.h"
#include "store/store.h"

namespace muster {

/// Takes a lock in a store, renews it, and gives it back: conducts for a LockMachine an election
/// for each permit. Before that it probes the store and makes `lock.json`, or compares it.
///
/// Threads: loop thread only. Hooks come on the loop; none may destroy the taker.
class LockTaker {
 public:
  struct Options {
    std::string name;
    LockShape shape;
    bool writes = false;
    Duration ttl = 6s;
    bool once = false;
    MonoTime give_up_at = MonoTime::max();
    WorkerId holder;  ///< For people.
    std::string host;
    /// The holder is elsewhere and counts the ttl by its own clock; this is its incarnation. The
    /// lock is renewed when told() says so, and for no other reason, and is taken only while
    /// told() is called. What may be held is given back only by release(): otherwise it expires.
    std::optional<Incarnation> session{};
    /// The session holds these permits since those epochs: go on with them, or end. Requires:
    /// `session`.
    std::vector<HeldPermit> resumed{};
  };
  struct Deps {
    Loop& loop;
    ObjectStore& store;
    Random random;
    /// Called once before anything is written: is the store safe? Empty: no probe.
    std::function<void(Callback<Done>)> probe;
    LockMemory* memory = nullptr;  ///< Of this loop and store; null: nothing is remembered.
  };
  struct Hooks {
    /// The guard is valid as long as the lock is held; its epoch is the token.
    std::function<void(std::shared_ptr<const LeaseGuard>)> on_held;
    /// The lock is held until then. May be empty.
    std::function<void(MonoTime until)> on_renewed{};
    /// The lock was held, and was lost without release().
    std::function<void(const Error&)> on_lost;
    /// The last call: nothing is held or competed for. An error says why the lock was never held,
    /// or that its release was not confirmed; nullopt means that it was not held in time, or was
    /// not wanted any more.
    std::function<void(std::optional<Status>)> on_end;
  };

  LockTaker(Options options, Deps deps, Hooks hooks);
  ~LockTaker();
  LockTaker(const LockTaker&) = delete;
  LockTaker& operator=(const LockTaker&) = delete;

  /// kInvalid names the option that is wrong.
  [[nodiscard]] static Status validate(const Options& options);

  void start();
  /// The holder has sent a request: renew, or try to take the lock. Requires: Options::session.
  void told();
  /// The permits that the lock is held by.
  [[nodiscard]] std::vector<HeldPermit> holds_by() const { return machine_.holds_by(); }
  /// Unlocks, or ends the attempt. Calls on_end within two request timeouts.
  void release();
  /// The last failure of the store, in words; empty if there was none.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  struct Part {
    std::unique_ptr<ElectionDriver> driver;
    bool eligible = false;
  };

  void probe();
  void probed(const Status& safe);
  void read_shape();
  void shape_read(const Result<Object>& object);
  void make_shape();
  void begin();
  void retry(const Error& error, void (LockTaker::*next)());
  void perform(const LockMachine::Actions& actions);
  void act(const LockMachine::Observe& action) { conduct(action.permit, false); }
  void act(const LockMachine::Compete& action) { conduct(action.permit, true); }
  void act(const LockMachine::GiveBack& action);
  void act(const LockMachine::Held& action);
  void act(const LockMachine::Extended& action);
  void act(const LockMachine::Lost& action);
  void act(const LockMachine::GaveUp&) { begin_to_end(); }
  void act(const LockMachine::Finished& action);
  void conduct(std::uint32_t permit, bool eligible);
  void on_event(std::uint32_t permit, const ElectionEvent& event);
  void on_beat(std::uint32_t permit, bool failed);
  void given_back(std::uint32_t permit, bool released);
  void drop(std::uint32_t permit);
  void follow();
  void look_at(std::uint32_t permit);
  [[nodiscard]] std::optional<Epoch> resumed(std::uint32_t permit) const;
  void fail(Error error);
  void stop();
  void begin_to_end();
  void end(std::optional<Status> how);
  void arm();
  [[nodiscard]] Deadline by() const { return loop_.now() + request_timeout_; }

  const Options options_;
  const LockKeys keys_;
  Loop& loop_;
  ObjectStore& store_;
  Random random_;
  std::function<void(Callback<Done>)> probe_;
  LockMemory* const memory_;
  Hooks hooks_;
  const Duration interval_;
  const Duration request_timeout_;
  LockMachine machine_;
  std::vector<Part> parts_;  ///< By number of the permit.
  std::unique_ptr<Watch> watch_;
  std::shared_ptr<LeaseGuard> guard_;
  StoreFailures failures_;
  std::string trouble_;
  std::optional<Error> failed_;
  Timer timer_;             ///< For the machine.
  Timer retry_timer_;       ///< Before the machine has begun; later it bounds the end.
  std::uint64_t beat_ = 0;  ///< How often told() was called.
  bool done_ = false;       ///< release() was called: nobody relies on the lock any more.
  bool begun_ = false;
  bool ending_ = false;
  bool ended_ = false;
  Lifetime lifetime_;
};

}  // namespace muster
