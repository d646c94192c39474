#pragma once

// A few coordinators in a simulated world, for the tests beside this file.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "coordinator/namespace_coordinator.h"
#include "sim/faulty_store.h"
#include "sim/world.h"

namespace muster {

/// Notes what it is told.
class NotingPlugin final : public CoordinatorPlugin {
 public:
  explicit NotingPlugin(std::string name = "noting") : name_(std::move(name)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  void on_become_coordinator(const LeaseGuard& guard) override {
    notes.push_back("became " + std::to_string(guard.epoch().value()));
    if (throws) throw std::runtime_error("planted");
  }
  void on_stop_being_coordinator() override { notes.emplace_back("stopped"); }
  void coordinator_work(const LeaseGuard& guard) override {
    ++works;
    if (on_work) on_work(guard);
  }

  std::vector<std::string> notes;
  int works = 0;
  bool throws = false;
  std::function<void(const LeaseGuard&)> on_work;

 private:
  std::string name_;
};

class CoordinatorWorld {
 public:
  struct Node {
    std::unique_ptr<sim::Process> process;
    std::unique_ptr<sim::FaultyStore> store;
    std::unique_ptr<NamespaceCoordinator> coordinator;
    std::shared_ptr<NotingPlugin> plugin;
    std::vector<CoordinatorEvent> events;

    [[nodiscard]] bool leads() const { return coordinator && coordinator->leads(); }
    template <typename T>
    [[nodiscard]] std::vector<T> saw() const {
      std::vector<T> found;
      for (const CoordinatorEvent& event : events) {
        if (const T* e = std::get_if<T>(&event)) found.push_back(*e);
      }
      return found;
    }
  };

  explicit CoordinatorWorld(std::uint64_t seed = 1) : world(seed) {
    options.startup_jitter_max = 0s;
  }
  ~CoordinatorWorld() {
    for (auto& node : nodes) node->process->kill();
  }

  Node& add(const std::string& id, std::function<void(Callback<Done>)> probe = {}) {
    nodes.push_back(std::make_unique<Node>());
    Node& node = *nodes.back();
    begin(node, id, std::move(probe));
    return node;
  }
  void begin(Node& node, const std::string& id, std::function<void(Callback<Done>)> probe = {}) {
    node.process = std::make_unique<sim::Process>(world, 1.0, 0s);
    node.store = std::make_unique<sim::FaultyStore>(world, *node.process, shared);
    CoordinatorOptions named = options;
    named.worker_id = WorkerId(id);
    named.pod = "pod-of-" + id;
    EXPECT_TRUE(named.validate().ok());
    node.coordinator = std::make_unique<NamespaceCoordinator>(
        "default", named,
        NamespaceCoordinator::Surroundings{*node.process, *node.process, *node.store,
                                           Random(world.random().next()), std::move(probe)});
    node.plugin = std::make_shared<NotingPlugin>();
    node.coordinator->plugins().subscribe(node.plugin);
    node.coordinator->plugins().listen(
        [&node](const CoordinatorEvent& event) { node.events.push_back(event); });
    node.process->post([&node] { node.coordinator->start(); });
  }
  void kill(Node& node) {
    node.process->kill();
    node.coordinator.reset();
    node.store.reset();
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
  [[nodiscard]] LeaderState state() const { return *decode_leader_state(body(keys.state)); }
  void overwrite(const std::string& key, std::string text) {
    (void)shared->objects->put(key, std::move(text), {}, {}, MonoTime());
  }

  sim::World world;
  std::shared_ptr<sim::SharedStore> shared = std::make_shared<sim::SharedStore>();
  NamespaceKeys keys{"default"};
  CoordinatorOptions options;
  std::vector<std::unique_ptr<Node>> nodes;
};

}  // namespace muster
