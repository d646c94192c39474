#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/cluster/hosts.h"
#include "tests/sim/cluster/invariants.h"
#include "tests/sim/cluster/network.h"
#include "tests/sim/sim_main.h"

namespace muster::sim {

inline constexpr int kSimNodes = 8;

struct ClusterSimOptions {
  Duration chaos = 40s;     ///< True time during which everything goes wrong.
  Duration calm = 35s;      ///< And then does not, so that everything must work.
  bool clocks_jump = true;  ///< Wall clocks are set, by up to ten years, at any moment.
  bool trace = false;
};

/// Runs a seed. For every fourth one it runs it again with wall clocks that are never set: no
/// decision may differ.
[[nodiscard]] SimReport simulate_cluster(std::uint64_t seed, const ClusterSimOptions& options);

/// A whole system: one to five musterd on one engine, agents with their nodes, watchers, clients
/// of the store, candidates for a singleton and clients that lead it by RPC, workers of the
/// coordinator library and an operator, while hosts crash, freeze and stop, links are cut one way
/// or both, requests are sent twice, the engine fails, loses its power and cannot be reached, and
/// clocks jump. What must hold is in invariants.h, and looked at after every event.
class ClusterSim {
 public:
  ClusterSim(std::uint64_t seed, ClusterSimOptions options);
  ~ClusterSim();
  [[nodiscard]] SimReport run();
  /// Everything that the servers decided, each with its true time; without what is only a label.
  [[nodiscard]] const std::vector<std::string>& decided() const { return invariants_.decided(); }

 private:
  template <typename T, typename... Args>
  T& add(std::vector<std::unique_ptr<T>>& kind, Args&&... args);
  void populate(std::uint64_t seed);

  void schedule_chaos();
  void wreak_chaos();
  void crash(Host& host);
  void freeze(Host& host);
  void set_clock(Host& host, Duration by);
  void schedule_clocks();
  void cut_store();
  void cut_servers(const Host& host, Duration length);
  void cut_link();
  void isolate(Host& host);
  void stop_server();
  void worsen();
  void trouble_engine();
  void trouble_nodes();
  void trouble_campaigns();
  void operate();
  [[nodiscard]] std::optional<NodeId> outside_ring();
  void heal();

  bool check();
  void check_calm();
  void say(const std::string& who, const std::string& what);
  [[nodiscard]] Host& any_host();

  ClusterSimOptions options_;
  World world_;
  /// Apart from the world's, so that clocks that jump are all that differs between two runs.
  Random clock_random_;
  std::shared_ptr<SharedStore> store_ = std::make_shared<SharedStore>();
  Network network_;
  WorkJournal journal_;
  Setting setting_;
  Invariants invariants_;
  std::vector<std::unique_ptr<ServerHost>> servers_;
  std::vector<std::unique_ptr<AgentHost>> agents_;
  std::unique_ptr<AgentHost> twin_;  ///< Of the first agent: another process with its nodes.
  std::vector<std::unique_ptr<WatcherHost>> watchers_;
  std::vector<std::unique_ptr<StoreClientHost>> clients_;
  std::vector<std::unique_ptr<CandidateHost>> candidates_;
  std::vector<std::unique_ptr<CampaignHost>> campaigns_;
  std::vector<std::unique_ptr<WorkerHost>> workers_;
  std::unique_ptr<OperatorHost> operator_;
  std::vector<Host*> hosts_;  ///< All of them.
  std::vector<EngineHost*> at_engine_;
  SimReport report_;
  bool healed_ = false;
};

}  // namespace muster::sim
