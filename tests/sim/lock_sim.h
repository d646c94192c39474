#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elector/lock_taker.h"
#include "sim/faulty_store.h"
#include "sim/world.h"
#include "tests/sim/sim_main.h"

namespace muster::sim {

struct LockSimOptions {
  Duration chaos = 5min;  ///< True time during which everything goes wrong.
  Duration calm = 3min;   ///< And then does not, so that the lock is taken.
  bool trace = false;
};

/// A few processes that take one lock again and again, on a store that loses, delays, repeats and
/// refuses, while they are paused, killed and cut off. Their boot clocks differ in rate by as much
/// as the drift allows. In some runs a stranger removes the state of one permit or another. The
/// seed decides whether it is a mutex, a semaphore or a read/write lock.
///
/// Invariants: there are never more holders than permits; a writer is alone; the tokens of a
/// mutex, and of writers, rise. Once everything has healed: a process that wants a free lock gets
/// it within a ttl and two seconds, or another ttl for an acquisition of its permit and of the
/// writers' that was interrupted between two writes, or whose state is gone; long before the ttl if
/// it was unlocked; and readers that come and go keep no writer waiting.
class LockSim {
 public:
  LockSim(std::uint64_t seed, LockSimOptions options);
  [[nodiscard]] SimReport run();

 private:
  struct Actor {
    std::string name;
    bool writes = false;
    std::unique_ptr<Process> process;
    std::unique_ptr<FaultyStore> store;
    LockMemory memory;
    std::unique_ptr<LockTaker> taker;
    std::shared_ptr<const LeaseGuard> guard;
    bool unlocked = false;
    /// Since when it waits with patience; empty while it does not.
    std::optional<TrueTime> waits_since;
    std::uint64_t life = 0;  ///< Counts attempts and restarts: what was meant for another is void.
  };

  void start(Actor& actor);
  void kill(Actor& actor);
  void attempt_later(Actor& actor);
  void attempt(Actor& actor);
  void held(Actor& actor, std::shared_ptr<const LeaseGuard> guard);
  void unlock(Actor& actor);
  void ended(Actor& actor, const std::optional<Status>& how);
  void schedule_chaos();
  void wreak_chaos();
  void remove_state();
  void heal();

  void on_change(const MemoryObjects::Change& change);
  /// How long a free lock may be wanted.
  [[nodiscard]] Duration patience(TrueTime since) const;
  bool check();
  void check_holders();
  void check_tokens(const Actor& actor, Epoch token);
  void check_progress();
  void check_writer();
  [[nodiscard]] bool is_held(const Actor& actor) const {
    return actor.guard && actor.guard->valid();
  }
  [[nodiscard]] bool calm() const { return calm_from_ && world_.now() >= *calm_from_; }
  void violate(std::string what);
  void say(const Actor* actor, const std::string& what);

  LockSimOptions options_;
  World world_;
  std::shared_ptr<SharedStore> shared_ = std::make_shared<SharedStore>();
  LockKeys keys_{"sim"};
  bool vandals_ = false;
  LockShape shape_;
  Duration ttl_;
  std::vector<Actor> actors_;
  SimReport report_;
  Epoch last_token_;
  TrueTime paused_until_{0};  ///< Of the process that is paused longest.
  std::optional<TrueTime> calm_from_;
  std::optional<TrueTime> wanted_since_;                     ///< Since then it is free and wanted.
  std::map<std::uint32_t, std::pair<Epoch, Epoch>> epochs_;  ///< Floor and state of each permit.
  bool begun_ = false;
  std::optional<TrueTime> begun_at_;
  TrueTime unlocked_at_{0};
  std::string unlocked_by_;  ///< By whom it became free, if it was unlocked.
};

}  // namespace muster::sim
