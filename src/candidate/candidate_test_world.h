#pragma once

// A few candidates in a simulated world, for the tests beside this file.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "candidate/candidate.h"
#include "candidate/candidate_test_work.h"
#include "sim/faulty_store.h"
#include "sim/world.h"

namespace muster {

class CandidateWorld {
 public:
  struct Node {
    std::unique_ptr<sim::Process> process;
    std::unique_ptr<sim::FaultyStore> store;
    std::unique_ptr<sim::SimulatedWork> work;
    std::unique_ptr<Candidate> candidate;
    std::vector<telemetry::Event> events;

    [[nodiscard]] bool leads() const { return candidate && candidate->leads(); }
    [[nodiscard]] CandidateState state() const { return candidate->state(); }
    template <typename T>
    [[nodiscard]] std::vector<T> saw() const {
      std::vector<T> found;
      for (const telemetry::Event& event : events) {
        if (const T* e = std::get_if<T>(&event.what)) found.push_back(*e);
      }
      return found;
    }
    /// Calls it on the node's loop, as everybody must.
    void tell(const std::function<void(Candidate&)>& what) {
      process->post([this, what] { what(*candidate); });
    }
  };

  explicit CandidateWorld(std::uint64_t seed = 1) : world(seed) { set_log_sink({}); }
  ~CandidateWorld() {
    for (auto& node : nodes) {
      if (node->process) node->process->kill();
    }
    EXPECT_EQ(journal.violation, "");
  }

  Node& add(const std::string& id) {
    nodes.push_back(std::make_unique<Node>());
    begin(*nodes.back(), id);
    return *nodes.back();
  }
  /// Also for a node that was killed: a new process with the old name.
  void begin(Node& node, const std::string& id) {
    CandidateOptions named = options;
    named.node = WorkerId(id);
    EXPECT_TRUE(named.validate().ok());
    node.process = std::make_unique<sim::Process>(world, 1.0, 0s);
    node.store = std::make_unique<sim::FaultyStore>(world, *node.process, shared);
    node.work = std::make_unique<sim::SimulatedWork>(world, *node.process, 1.0, id,
                                                     named.timings().kill_margin, habits, journal);
    node.candidate = std::make_unique<Candidate>(
        "default", named,
        Candidate::Surroundings{
            *node.process,
            *node.store,
            *node.work,
            Random(world.random().next()),
            [&node](const telemetry::Event& event) { node.events.push_back(event); },
            {}});
    node.tell([](Candidate& candidate) { candidate.start(); });
  }
  /// kill -9.
  void kill(Node& node) {
    node.process->kill();
    node.candidate.reset();
    node.store.reset();
    node.work->parent_died();
    graveyard.emplace_back(std::move(node.process), std::move(node.work));
  }
  void run(Duration time) { world.run(world.now() + time); }
  /// Runs until `condition`, at most for `limit`; how long it took.
  Duration run_until(const std::function<bool()>& condition, Duration limit) {
    const Duration start = world.now();
    while (!condition() && world.now() < start + limit) run(10ms);
    return world.now() - start;
  }
  [[nodiscard]] Node* leader() {
    const auto it = std::find_if(nodes.begin(), nodes.end(), [](auto& n) { return n->leads(); });
    return it == nodes.end() ? nullptr : it->get();
  }
  [[nodiscard]] std::string body(const std::string& key) const {
    const auto it = shared->objects->entries().find(key);
    return it == shared->objects->entries().end() ? "" : it->second.body;
  }
  [[nodiscard]] LeaderState stored() const { return *decode_leader_state(body(keys.state)); }
  void overwrite(const std::string& key, std::string text) {
    (void)shared->objects->put(key, std::move(text), {}, {}, MonoTime());
  }

  sim::World world;
  std::shared_ptr<sim::SharedStore> shared = std::make_shared<sim::SharedStore>();
  NamespaceKeys keys{"default"};
  CandidateOptions options;
  sim::WorkHabits habits;
  sim::WorkJournal journal;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::pair<std::unique_ptr<sim::Process>, std::unique_ptr<sim::SimulatedWork>>>
      graveyard;
};

}  // namespace muster
