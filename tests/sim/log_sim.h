#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "log/replicated_log.h"
#include "sim/faulty_store.h"
#include "sim/world.h"
#include "tests/sim/log_history.h"
#include "tests/sim/sim_main.h"

namespace muster::sim {

struct LogSimOptions {
  Duration chaos = 90s;  ///< True time during which everything goes wrong.
  Duration calm = 50s;   ///< And then does not, so that the log must go on.
  bool trace = false;
};

/// Some replicas of one log on a store that loses, delays, repeats and refuses. Leases are left
/// out: anyone may lead at any time with the next epoch, and older leaders do not notice. Everyone
/// compacts, reads, is paused, killed and cut off; requests arrive long after their sender gave up
/// and the number they were for was compacted.
class LogSim {
 public:
  LogSim(std::uint64_t seed, LogSimOptions options);
  ~LogSim();
  [[nodiscard]] SimReport run();

 private:
  struct Replica {
    std::string name;
    std::unique_ptr<Process> process;
    std::unique_ptr<FaultyStore> store;
    std::unique_ptr<LoggedState> state;
    std::unique_ptr<rlog::ReplicatedLog> log;
    bool stopped = false;
    bool confirmed_after_heal = false;
  };

  void start(Replica& replica);
  void end(Replica& replica);
  void on_event(Replica& replica, const rlog::Event& event);
  void on_replica(Replica& replica, std::function<void()> work);

  void schedule_work();
  void work(Replica& replica);
  void lead(Replica& replica);
  void append(Replica& replica);
  void read(Replica& replica);
  void compact(Replica& replica);
  void schedule_chaos();
  void wreak_chaos();
  void vandalize();
  void heal();
  void finish();

  void say(const Replica* replica, const std::string& what);

  LogSimOptions options_;
  World world_;
  std::shared_ptr<SharedStore> shared_ = std::make_shared<SharedStore>();
  History history_;
  std::vector<Replica> replicas_;
  std::uint64_t epoch_ = 0;
  std::uint64_t next_command_ = 1;
  bool vandals_ = false;
  bool vandalized_ = false;
  bool healed_ = false;
  bool acked_after_heal_ = false;
  SimReport report_;
};

}  // namespace muster::sim
