#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/strong.h"
#include "base/time.h"
#include "core/election/election.h"
#include "core/lock/lock_records.h"

namespace muster {

/// A permit that a lock is held by.
struct HeldPermit {
  std::uint32_t permit = 0;
  Epoch epoch;
  bool operator==(const HeldPermit&) const = default;
};

/// One attempt to take a lock, and then the lock while it is held: decides for which permits to
/// compete, when the lock is held and until when, what is given back, and when the lock is lost.
/// Each permit is the leadership of an election of its own, which the caller conducts.
///
/// A holder of a mutex, of a semaphore and a reader hold one permit. A taker competes for one
/// permit, and for one more each time that it did not win the last one at once. What it wins beyond
/// the first is given back at once.
///
/// A writer takes the writers' permit first, and all others after it. So two writers never wait for
/// each other, and since a reader does not compete while the writers' permit is held, readers that
/// come later never keep a writer waiting. A writer that loses the writers' permit on the way gives
/// back all others.
///
/// Guarantees: the lock is held until the earliest deadline of the permits that it needs; it
/// is lost with any of them, and is not taken again after that. Not guaranteed: an order among
/// takers.
///
/// Pure: no I/O, no clock of its own, no locks; one thread.
class LockMachine {
 public:
  struct Config {
    LockShape shape;
    bool writes = false;      ///< Takes a read/write lock for writing.
    std::uint32_t first = 1;  ///< The permit to begin with, so that takers spread.
    bool once = false;        ///< Does not wait for a permit that another holds.
    MonoTime give_up_at = MonoTime::max();
    /// The lock was taken elsewhere: go on with `first`, of a writer with all permits. If one of
    /// them cannot be gone on with, the attempt ends.
    bool resumes = false;
  };

  /// Read the permit's state from now on, without competing for it.
  struct Observe {
    std::uint32_t permit;
  };
  struct Compete {
    std::uint32_t permit;
  };
  /// End what was begun for the permit, and release it if it was won; then call given_back().
  struct GiveBack {
    std::uint32_t permit;
  };
  struct Held {
    Epoch token;
    MonoTime until;
  };
  struct Extended {
    MonoTime until;
  };
  /// Was held, and is not any more.
  struct Lost {
    LossReason reason;
  };
  /// Was not held in time.
  struct GaveUp {};
  /// The last action: no permit is held or competed for.
  struct Finished {
    bool released;  ///< False: a permit that was held when the end began may expire only.
  };
  using Action = std::variant<Observe, Compete, GiveBack, Held, Extended, Lost, GaveUp, Finished>;
  using Actions = std::vector<Action>;

  explicit LockMachine(Config config);

  Actions start(MonoTime now);
  /// When to call wake() at the latest.
  [[nodiscard]] MonoTime wake_at() const;
  Actions wake(MonoTime now);

  Actions won(std::uint32_t permit, Epoch epoch, MonoTime deadline, MonoTime now);
  Actions renewed(std::uint32_t permit, MonoTime deadline, MonoTime now);
  Actions lost(std::uint32_t permit, LossReason reason, MonoTime now);
  /// A look at the permit has ended without winning it. Another holds it until `held_until`; in the
  /// past: nobody is known to hold it.
  Actions looked(std::uint32_t permit, MonoTime held_until, MonoTime now);
  Actions given_back(std::uint32_t permit, bool released, MonoTime now);
  /// The permits that the lock is held by, in the order of their numbers.
  [[nodiscard]] std::vector<HeldPermit> holds_by() const;
  /// Ends the attempt, or unlocks.
  Actions end(MonoTime now);

 private:
  enum class Phase { kNew, kTaking, kHeld, kEnding, kEnded };
  struct Permit {
    enum class State { kUnused, kObserved, kCompeting, kWon, kGivingBack };
    State state = State::kUnused;
    bool competes = false;  ///< Also while won: its election goes on after a loss.
    bool missed = false;    ///< Was competed for, and not won at once.
    bool needed = false;    ///< The lock is held by it.
    Epoch epoch;
    MonoTime deadline{};
  };
  using State = Permit::State;

  Actions finish();
  void decide(MonoTime now);
  void decide_to_resume(MonoTime now);
  void decide_for_one(MonoTime now);
  void decide_for_all(MonoTime now);
  void observe(std::uint32_t number);
  void compete(std::uint32_t number);
  void give_back(std::uint32_t number);
  void take(bool all, std::uint32_t number);
  void give_up();
  void wind_up();
  void end_if_done();
  [[nodiscard]] bool held(const Permit& permit, MonoTime now) const;
  [[nodiscard]] MonoTime held_until() const;
  [[nodiscard]] bool reads() const {
    return config_.shape.kind == LockKind::kReadWrite && !config_.writes;
  }
  /// The permit that is competed for after `position` others.
  [[nodiscard]] std::uint32_t at(std::uint32_t position) const;

  Config config_;
  Phase phase_ = Phase::kNew;
  std::vector<Permit> permits_;  ///< By number.
  std::uint32_t opened_ = 1;     ///< How many permits a taker of one competes for.
  bool writers_looked_at_ = false;
  MonoTime writer_until_ = MonoTime::min();  ///< A writer holds or takes the lock until then.
  bool released_ = true;
  Actions actions_;
};

}  // namespace muster
