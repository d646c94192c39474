#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/election/epoch_fence.h"
#include "elector/election_driver.h"
#include "sim/faulty_store.h"
#include "sim/world.h"
#include "tests/sim/sim_main.h"

namespace muster::sim {

struct ElectionSimOptions {
  Duration chaos = 10min;  ///< True time during which everything goes wrong.
  Duration calm = 3min;    ///< And then does not, so that a leader must be found.
  bool trace = false;
};

/// A few workers of one namespace on a store that loses, delays, repeats and refuses, while they
/// are paused, killed, cut off, asked to step down, and their wall clocks jump. Their boot clocks
/// differ in rate by as much as the drift allows, their leases in length. In some runs strangers
/// remove, overwrite or put back the one or the other object of the namespace, never both. In
/// others the whole store goes back to what it was a while ago, and gives its revisions out again
/// or not.
class ElectionSim {
 public:
  ElectionSim(std::uint64_t seed, ElectionSimOptions options);
  [[nodiscard]] SimReport run();

 private:
  struct Worker {
    std::string name;
    Duration lease;
    std::unique_ptr<Process> process;
    std::unique_ptr<FaultyStore> store;
    std::unique_ptr<ElectionDriver> driver;
    std::string incarnation;
    bool stopping = false;
    bool hung = false;  ///< Gives up while its work may still run: nothing is released.
  };

  /// What vandals can put back.
  struct Backup {
    MemoryObjects::Entry entry;
    std::uint64_t floor = 0;  ///< Revision of the floor when another took its place.
  };

  void start(Worker& worker);
  void stop(Worker& worker);
  void restart_later(Worker& worker, Duration delay);
  void start_later(Worker& worker, Duration delay);
  void on_event(Worker& worker, const ElectionEvent& event);
  void schedule_chaos();
  void wreak_chaos();
  void vandalize();
  void go_back();
  [[nodiscard]] bool last_term_is_forgotten() const;
  void damage(const Key& key);
  [[nodiscard]] bool state_is_intact() const;
  [[nodiscard]] bool floor_is_intact() const;
  [[nodiscard]] bool is_told(const Key& key, const Backup& backup) const;
  [[nodiscard]] std::uint64_t floor_revision() const;
  void heal();
  void work_on_resource(Worker& worker);

  bool check();
  void check_one_leader();
  void on_change(const MemoryObjects::Change& change);
  void check_history(const MemoryObjects::Change& change);
  void violate(std::string what);
  void say(const Worker* worker, const std::string& what);

  ElectionSimOptions options_;
  World world_;
  std::shared_ptr<SharedStore> shared_ = std::make_shared<SharedStore>();
  NamespaceKeys keys_{"sim"};
  std::vector<Worker> workers_;
  SimReport report_;
  bool vandals_ = false;
  bool goes_back_ = false;  ///< The store does, and with it what it says of past terms.
  std::vector<MemoryObjects> copies_;
  std::optional<TrueTime> went_back_at_;
  bool epochs_come_again_ = false;
  std::map<Key, std::vector<Backup>> backups_;
  bool healed_ = false;

  Epoch last_term_;
  LeaderState last_state_;
  EpochGuard guard_;
  Epoch resource_epoch_;
  std::map<std::uint64_t, std::string> resource_writers_;
};

}  // namespace muster::sim
