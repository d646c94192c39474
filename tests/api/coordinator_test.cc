#include "tests/api/scene.h"

#include <muster/coordinator.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace api_test {

using muster::CoordinatorEvent;
using muster::CoordinatorOptions;
using muster::CoordinatorPlugin;
using muster::GlobalCoordinator;
using muster::Lease;

CoordinatorOptions worker(const std::string& id) {
  CoordinatorOptions options;
  options.worker_id = id;
  options.lease_timeout = 3s;
  options.heartbeat_interval = 1s;
  options.worker_timeout = 6s;
  options.startup_jitter_max = 0s;
  options.json = R"({"heartbeatJitter":100})";
  return options;
}

/// Tells what it was called for.
class TellingPlugin final : public CoordinatorPlugin {
 public:
  std::string name() const override { return "telling"; }
  void on_become_coordinator(const Lease& lease) override {
    kept = &lease;
    said.add("became " + std::to_string(lease.token()) + (lease.valid() ? "" : " in vain"));
  }
  void on_stop_being_coordinator() override {
    said.add(std::string("stopped") + (kept->stopping() ? "" : " unasked"));
  }
  void coordinator_work(const Lease& lease) override {
    said.add(lease.left() > 0s ? "worked" : "worked in vain");
    if (then) then();
  }
  muster::Duration work_interval() const override { return 10ms; }

  Heard<std::string> said;
  std::function<void()> then;
  const Lease* kept = nullptr;
};

auto is(const std::string& wanted) {
  return [wanted](const std::string& said) { return said == wanted; };
}

std::ptrdiff_t count_of(TellingPlugin& plugin, const std::string& wanted) {
  const auto all = plugin.said.all();
  return std::count(all.begin(), all.end(), wanted);
}

TEST(PublicCoordinatorTest, APluginIsToldOfEachTermOnceAndWorksMeanwhile) {
  const TempDir dir;
  std::optional<Arbiter> arbiter = Arbiter::open(url_of(dir)).value();
  Heard<std::string> events;
  CoordinatorOptions options = worker("w1");
  options.on_event = [&](const CoordinatorEvent& event) {
    events.add(event.name + " " + event.leader + " " + std::to_string(event.token));
  };
  auto plugin = std::make_shared<TellingPlugin>();
  EXPECT_FALSE(plugin->validate_epoch(1));
  {
    GlobalCoordinator one = GlobalCoordinator::start(*arbiter, "jobs", options).value();
    arbiter.reset();
    EXPECT_TRUE(one.subscribe(plugin).ok());
    EXPECT_TRUE(one.subscribe(plugin).ok());
    ASSERT_TRUE(plugin->said.wait_for(is("worked")));
    EXPECT_TRUE(one.is_leader());
    EXPECT_EQ(one.leader(), "w1");
    EXPECT_EQ(one.worker_id(), "w1");
    EXPECT_EQ(one.epoch(), 1u);
    EXPECT_GT(one.lease_left(), 0s);
    EXPECT_TRUE(plugin->validate_epoch(1));
    EXPECT_FALSE(plugin->validate_epoch(0));
    EXPECT_EQ(plugin->last_known_epoch(), 1u);
    EXPECT_EQ(plugin->epoch_drift_events(), 1u);
    EXPECT_EQ(one.circuit_breaker_status().state, muster::CircuitState::kClosed);
    EXPECT_NE(one.metrics().json.find("heartbeatCount"), std::string::npos);
    EXPECT_GT(one.metrics().election_count, 0u);
    EXPECT_TRUE(events.wait_for(is("leader:changed w1 1")));
    EXPECT_TRUE(events.wait_for(is("term:began  1")));
  }
  EXPECT_EQ(count_of(*plugin, "became 1"), 1);
  EXPECT_EQ(plugin->said.all().back(), "stopped");
  EXPECT_EQ(count_of(*plugin, "stopped"), 1);
  // And once more: the same namespace, with the same plugin.
  GlobalCoordinator two =
      GlobalCoordinator::start(Arbiter::open(url_of(dir)).value(), "jobs", worker("w1")).value();
  EXPECT_TRUE(two.subscribe(plugin).ok());
  EXPECT_TRUE(plugin->said.wait_for(is("became 2")));
  EXPECT_TRUE(two.unsubscribe(plugin).ok());
  // Its lease goes on: only the plugin was let go.
  EXPECT_EQ(count_of(*plugin, "stopped unasked"), 1);
  EXPECT_TRUE(two.is_leader());
}

TEST(PublicCoordinatorTest, TheLeadIsHandedOverToWhoIsPreferred) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  auto first = std::make_shared<TellingPlugin>();
  auto second = std::make_shared<TellingPlugin>();
  GlobalCoordinator one = GlobalCoordinator::start(arbiter, "jobs", worker("w1")).value();
  EXPECT_TRUE(one.subscribe(first).ok());
  ASSERT_TRUE(first->said.wait_for(is("worked")));
  GlobalCoordinator two = GlobalCoordinator::start(arbiter, "jobs", worker("w2")).value();
  EXPECT_TRUE(two.subscribe(second).ok());
  EXPECT_TRUE(one.step_down("w2").ok());
  EXPECT_TRUE(second->said.wait_for(is("became 2")));
  EXPECT_TRUE(first->said.wait_for(is("stopped")));
  EXPECT_FALSE(one.is_leader());
}

TEST(PublicCoordinatorTest, ACallbackMayEndItsCoordinatorAndMayNotWaitForItself) {
  const TempDir dir;
  std::optional<GlobalCoordinator> coordinator;
  Heard<Code> refused;
  auto plugin = std::make_shared<TellingPlugin>();
  plugin->then = [&] {
    if (!coordinator) return;
    refused.add(coordinator->stop().code());
    refused.add(coordinator->unsubscribe(plugin).code());
    coordinator.reset();
    refused.add(Code::kCancelled);
  };
  coordinator.emplace(
      GlobalCoordinator::start(Arbiter::open(url_of(dir)).value(), "jobs", worker("w1")).value());
  EXPECT_TRUE(coordinator->subscribe(plugin).ok());
  ASSERT_TRUE(refused.wait_for([](Code code) { return code == Code::kCancelled; }));
  EXPECT_EQ(refused.all(), (std::vector<Code>{Code::kInvalid, Code::kInvalid, Code::kCancelled}));
  EXPECT_TRUE(plugin->said.wait_for(is("stopped")));
  EXPECT_TRUE(threads_fall_to(2)) << threads();
}

TEST(PublicCoordinatorTest, RefusesWhatCannotWork) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  EXPECT_TRUE(GlobalCoordinator::start(arbiter, "no spaces").is(Code::kInvalid));
  CoordinatorOptions options = worker("w1");
  options.json = R"({"leaseTimout":3000})";
  const auto unknown = GlobalCoordinator::start(arbiter, "jobs", options);
  EXPECT_TRUE(unknown.is(Code::kInvalid));
  EXPECT_NE(unknown.message().find("leaseTimeout"), std::string::npos) << unknown.message();
  options = worker("w1");
  options.lease_timeout = 10ms;
  EXPECT_TRUE(GlobalCoordinator::start(arbiter, "jobs", options).is(Code::kInvalid));
  GlobalCoordinator one = GlobalCoordinator::start(arbiter, "jobs", worker("w1")).value();
  EXPECT_TRUE(one.subscribe(nullptr).is(Code::kInvalid));
  EXPECT_TRUE(one.stop().ok());
  EXPECT_TRUE(one.stop().ok());
  EXPECT_FALSE(one.is_leader());
  EXPECT_TRUE(one.subscribe(std::make_shared<TellingPlugin>()).is(Code::kInvalid));
  const GlobalCoordinator moved = std::move(one);
  EXPECT_TRUE(one.step_down().is(Code::kInvalid));  // NOLINT
}

}  // namespace api_test
