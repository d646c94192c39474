#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/namespace_coordinator.h"
#include "sim/faulty_store.h"
#include "sim/world.h"
#include "tests/sim/sim_main.h"

namespace muster::sim {

/// A few healthy workers of one namespace, whole coordinators with breaker and worker files, on a
/// store that has one outage after another and is well in between: it is silent, slow, answers
/// every request with a failure, or throttles and asks for a wait of up to hours. ElectionSim asks
/// whether anything can make two lead; this asks how soon one leads again.
class OutageSim {
 public:
  OutageSim(std::uint64_t seed, bool trace);
  [[nodiscard]] SimReport run();

 private:
  enum class Kind { kSilent, kSlow, kFailing, kThrottled };
  struct Worker {
    std::string name;
    std::unique_ptr<Process> process;
    std::unique_ptr<FaultyStore> store;
    std::unique_ptr<NamespaceCoordinator> coordinator;
    std::uint64_t contentions_before = 0;  ///< The outage.
    std::uint64_t file_before = 0;         ///< Revision of its file when the outage ended.
    /// The term whose lease outlived the outage, until the next one begins.
    std::optional<Epoch> outlived;
  };

  void start(Worker& worker);
  void on_event(Worker& worker, const CoordinatorEvent& event);
  void have_outage();
  void begin_outage(Kind kind, Duration length);
  void end_outage();
  void expect_recovery(Duration after, Duration within);
  void expect_contention(Kind kind, Duration length);
  void expect_files(Duration within);
  void let_pass(Duration time);
  [[nodiscard]] Duration real(Duration by_slowest_clock) const;
  [[nodiscard]] std::uint64_t file_revision(const Worker& worker) const;
  [[nodiscard]] bool somebody_leads() const;
  void check_one_leader();
  void violate(const std::string& what);
  void say(const std::string& what);

  World world_;
  const bool trace_;
  std::shared_ptr<SharedStore> shared_ = std::make_shared<SharedStore>();
  NamespaceKeys keys_{"sim"};
  CoordinatorOptions options_;
  std::vector<Worker> workers_;
  SimReport report_;
};

}  // namespace muster::sim
