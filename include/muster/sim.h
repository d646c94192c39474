#pragma once

#include <muster/store.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster::api {
class SimulationCore;
}

MUSTER_BEGIN_NAMESPACE

class SimulatedProcess;

/// The leader-only code of a simulated process. Each function is optional and runs on the process:
/// not while it is frozen, and never after it has crashed.
struct SimulatedWork {
  /// A term begins.
  std::function<void(SimulatedProcess)> on_start{};
  /// Called once per `interval` of a term until the term is given up or the lease has ended.
  std::function<void(SimulatedProcess)> step{};
  Duration interval = Duration(1'000'000'000);
  /// The term is given up. The lease is released `stop_time` later, if it lasts so long.
  std::function<void(SimulatedProcess)> on_stop{};
  Duration stop_time = Duration(0);
};

/// One process of a Simulation. A handle: copies mean the same process. Once the simulation is
/// destroyed, it is dead and calls have no effect. Threads: that of the simulation.
class MUSTER_EXPORT SimulatedProcess {
 public:
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] bool alive() const;
  /// What Term::valid() would say: the lease holds by this process's clock, and the term is not
  /// being given up.
  [[nodiscard]] bool leads() const;
  /// The token of the term, also after it has ended; 0 before the first term since the start.
  [[nodiscard]] Token token() const;

  /// Ends it at once, as kill -9 does. Requests that it has sent may still arrive.
  void crash() const;
  /// Starts it again with nothing but its id and its work; crashes it first if it is alive.
  void restart() const;
  /// Stops cleanly: gives up the term and releases the lease. Dead afterwards.
  void stop() const;
  /// Nothing of it runs for so long, but its clock goes on: a SIGSTOP or a suspended machine.
  void freeze(Duration time) const;
  /// Cuts it off from the store, or connects it again.
  void cut_off(bool is_cut_off = true) const;

  /// Calls `task` after `delay` on the clock of this process, unless it crashes before.
  void after(Duration delay, std::function<void()> task) const;
  /// Reads an object of the simulated store. `done` is called within a second, unless the process
  /// crashes before; kUnavailable: no reply.
  void get(const std::string& key, std::function<void(const Result<StoredObject>&)> done) const;
  /// Writes an object; the new revision. kAmbiguous: the write may have landed or may land yet.
  void put(const std::string& key, const std::string& body, const WriteCondition& when,
           std::function<void(const Result<std::string>&)> done) const;

 private:
  friend class muster::api::SimulationCore;
  SimulatedProcess(std::weak_ptr<muster::api::SimulationCore> core, std::size_t index,
                   std::string id);
  std::weak_ptr<muster::api::SimulationCore> core_;
  std::size_t index_;
  std::string id_;
};

struct SimulationOptions {
  /// Determines everything that happens: the same seed and the same calls repeat a run exactly.
  std::uint64_t seed = 1;
  /// From 0, where the store answers every request within milliseconds, to 1, where it loses,
  /// delays, repeats or refuses about half of them.
  double badness = 0;
  /// The lease of each process.
  Duration lease = Duration(6'000'000'000);
};

/// A world in virtual time, for tests of leader-only code: processes that take part in one election
/// by the same code as Leadership, on a store that fails as real ones do. A quarter of an hour
/// takes milliseconds. The clocks of the processes run at rates that differ by up to 16 %.
///
/// What it shows is the order of events around an election: work that overlaps a new term, effects
/// that happen twice, writes that land late. Give the outside world as objects of the test: a bank
/// that counts, a resource that refuses lower tokens.
///
/// Not guaranteed: that code which passes is correct; run many seeds. A step of work takes no
/// virtual time, so code that acts for longer must be written as several tasks.
///
/// Threads: one. What a function of the test throws ends the run and is thrown by run_for() or
/// run_until().
class MUSTER_EXPORT Simulation {
 public:
  explicit Simulation(SimulationOptions options = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Starts a process. kInvalid if the id is taken or malformed, or if the lease is below 100 ms.
  [[nodiscard]] Result<SimulatedProcess> add(const std::string& id, SimulatedWork work = {});
  /// All processes, in the order of add().
  [[nodiscard]] std::vector<SimulatedProcess> processes() const;
  /// Those that lead now, each by its own clock: one at most.
  [[nodiscard]] std::vector<SimulatedProcess> leaders() const;

  /// The virtual time since the beginning.
  [[nodiscard]] Duration now() const;
  /// Calls `event` at this time of the world, whatever the processes do.
  void at(Duration when, std::function<void()> event);
  /// A number below `bound`, or 0 if that is 0. The seed determines it.
  [[nodiscard]] std::uint64_t random(std::uint64_t bound);
  /// Changes SimulationOptions::badness for requests from now on.
  void set_badness(double badness);

  /// Lets so much time pass. Throws std::logic_error if called by a function that it calls.
  void run_for(Duration time);
  /// Lets time pass until `condition` holds after an event, at most `limit`. True if it holds.
  bool run_until(const std::function<bool()>& condition, Duration limit);

 private:
  std::shared_ptr<muster::api::SimulationCore> core_;
};

MUSTER_END_NAMESPACE
