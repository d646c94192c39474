#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "candidate/candidate.h"
#include "candidate/candidate_test_work.h"
#include "sim/faulty_store.h"
#include "sim/world.h"
#include "tests/sim/sim_main.h"

namespace muster::sim {

struct CandidateSimOptions {
  Duration chaos = 10min;  ///< True time during which everything goes wrong.
  Duration calm = 5min;    ///< And then does not, so that work must run on one node.
  bool trace = false;
  /// Only starts and stops, no other fault: what a plain operator does.
  bool only_start_and_stop = false;
};

/// A few candidates of one name with leader-only work that takes its time, on a store that loses,
/// delays, repeats and refuses, while they are paused, killed, cut off, commanded, restarted, and
/// their work fails, and their gateways' clocks differ. After every event: at most one leads, no
/// two pieces of work run in true time, epochs only rise, no work outlives its deadline, and a term
/// that began ends at most once.
class CandidateSim {
 public:
  CandidateSim(std::uint64_t seed, CandidateSimOptions options);
  [[nodiscard]] SimReport run();
  [[nodiscard]] const WorkJournal& journal() const { return journal_; }

 private:
  struct Node {
    std::string name;
    CandidateOptions options;
    double clock_rate = 1;
    std::unique_ptr<Process> process;
    std::unique_ptr<FaultyStore> store;
    std::unique_ptr<SimulatedWork> work;
    std::unique_ptr<Candidate> candidate;
    std::uint64_t run = 0;    ///< Which start of this node it is.
    TrueTime started_at{};    ///< Of this run.
    std::uint64_t began = 0;  ///< Terms of this run.
    std::uint64_t ended = 0;
    bool stopping = false;
  };

  void start(Node& node);
  void end(Node& node);
  void restart_later(Node& node, Duration delay);
  void on_event(Node& node, const telemetry::Event& event);
  void schedule_chaos();
  void wreak_chaos();
  void wreak_on_host(Node& node);
  void command(Node& node);
  void shut_down(Node& node);
  void vandalize();
  void heal();

  bool check();
  void check_file(const MemoryObjects::Change& change);
  void violate(std::string what);
  void say(const Node* node, const std::string& what);

  CandidateSimOptions options_;
  World world_;
  std::shared_ptr<SharedStore> shared_ = std::make_shared<SharedStore>();
  NamespaceKeys keys_{"sim"};
  WorkJournal journal_;
  std::vector<Node> nodes_;
  /// The work of processes that are gone; its guardians may still be at it.
  std::vector<std::pair<std::unique_ptr<Process>, std::unique_ptr<SimulatedWork>>> orphans_;
  WorkHabits habits_;
  SimReport report_;
  bool vandals_ = false;
  bool healed_ = false;
  /// When each node's file was last written by the node itself.
  std::map<Key, TrueTime> files_written_;
};

}  // namespace muster::sim
