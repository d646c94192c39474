#include "coordinator/hub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/log.h"
#include "coordinator/coordinator_test_world.h"
#include "platform/system_clock.h"

namespace muster {
namespace hub_test {

CoordinatorOptions quick() {
  CoordinatorOptions options;
  options.heartbeat_interval = 100ms;
  options.heartbeat_jitter = 20ms;
  options.lease_timeout = 500ms;
  options.worker_timeout = 1s;
  options.startup_jitter_max = 0s;
  return options;
}

/// Waits for what other threads bring about; ten seconds are for a machine under load.
bool eventually(const std::function<bool()>& condition) {
  const MonoTime limit = boot_now() + 10s;
  while (!condition()) {
    if (boot_now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

// S15: exactly one coordinator for each namespace, under concurrent calls.
TEST(HubTest, ConcurrentCallsGetOneCoordinatorForEachNamespace) {
  const auto hub = Hub::open("memory:").value();
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<GlobalCoordinator>> got(8);
  for (std::size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] { got[i] = hub->coordinator("default", quick()).value(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set(got.begin(), got.end()).size(), 1u);
  EXPECT_NE(hub->coordinator("staging", quick()).value(), got[0]);
}

// S06: one worker id for a process and a namespace, so all its plugins lead together.
TEST(HubTest, AllPluginsOfAProcessLeadTogether) {
  const auto hub = Hub::open("memory:").value();
  const auto coordinator = hub->coordinator("default", quick()).value();
  std::vector<std::shared_ptr<NotingPlugin>> plugins;
  for (int i = 0; i < 3; ++i) {
    plugins.push_back(std::make_shared<NotingPlugin>(std::to_string(i)));
    coordinator->subscribe(plugins.back());
  }
  // Plugins hear of a term on their own thread, and not at all if it is being handed over by then.
  std::atomic<bool> told{false};
  coordinator->on_event([&](const CoordinatorEvent& event) {
    if (std::holds_alternative<TermBeganEvent>(event)) told = true;
  });
  coordinator->start();
  ASSERT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_TRUE(coordinator->is_leader());
  coordinator->stop();
  for (const auto& plugin : plugins) {
    EXPECT_EQ(plugin->notes, (std::vector<std::string>{"became 1", "stopped"}));
  }
}

TEST(HubTest, NamespacesAreIsolated) {
  const auto hub = Hub::open("memory:").value();
  CoordinatorOptions options = quick();
  options.worker_id = WorkerId("a");
  const auto production = hub->coordinator("production", options).value();
  const auto staging = hub->coordinator("staging", options).value();
  production->start();
  ASSERT_TRUE(eventually([&] { return production->is_leader(); }));
  EXPECT_FALSE(staging->is_leader());
  EXPECT_EQ(staging->epoch(), Epoch(0));
  staging->start();
  ASSERT_TRUE(eventually([&] { return staging->is_leader(); }));
  EXPECT_EQ(staging->epoch(), Epoch(1));
}

TEST(HubTest, AnswersTheQuestionsPeopleAsk) {
  const auto hub = Hub::open("memory:").value();
  CoordinatorOptions options = quick();
  options.worker_id = WorkerId("pod-123");
  const auto coordinator = hub->coordinator("default", options).value();
  EXPECT_EQ(coordinator->leader(), std::nullopt);
  coordinator->start();
  coordinator->start();
  ASSERT_TRUE(eventually([&] { return coordinator->is_leader(); }));
  EXPECT_EQ(coordinator->leader(), WorkerId("pod-123"));
  EXPECT_TRUE(coordinator->is_leader(WorkerId("pod-123")));
  EXPECT_FALSE(coordinator->is_leader(WorkerId("pod-456")));
  EXPECT_EQ(coordinator->active_workers(), std::vector<WorkerId>{WorkerId("pod-123")});
  EXPECT_GT(coordinator->lease_left(), 0s);
  EXPECT_EQ(coordinator->circuit_breaker_status().state, CircuitState::kClosed);
  ASSERT_TRUE(eventually([&] { return coordinator->metrics().heartbeat_count >= 10; }));
  coordinator->stop();
  coordinator->stop();
  EXPECT_FALSE(coordinator->is_leader());
  EXPECT_EQ(coordinator->lease_left(), 0s);
}

TEST(HubTest, SteppingDownFromAnotherThreadEndsTheTerm) {
  const auto hub = Hub::open("memory:").value();
  const auto coordinator = hub->coordinator("default", quick()).value();
  coordinator->start();
  ASSERT_TRUE(eventually([&] { return coordinator->is_leader(); }));
  coordinator->step_down({}, 1h);
  EXPECT_FALSE(coordinator->is_leader());
}

/// Holds the callbacks' thread until it is let go.
class HangingPlugin final : public CoordinatorPlugin {
 public:
  [[nodiscard]] std::string name() const override { return "hanging"; }
  void coordinator_work(const LeaseGuard& guard) override {
    hanging = true;
    while (!let_go) std::this_thread::yield();
    valid_afterwards = guard.valid();
  }
  std::atomic<bool> hanging{false};
  std::atomic<bool> let_go{false};
  std::atomic<bool> valid_afterwards{true};
};

// A plugin that hangs cannot stop the heartbeat; and since its work may go on, the lease is not
// released under it.
TEST(HubTest, APluginThatHangsStopsNoHeartbeatAndIsNotLiedAbout) {
  const auto hub = Hub::open("memory:").value();
  const auto coordinator = hub->coordinator("default", quick()).value();
  const auto plugin = std::make_shared<HangingPlugin>();
  coordinator->subscribe(plugin);
  coordinator->start();
  ASSERT_TRUE(eventually([&] { return plugin->hanging.load(); }));
  const auto before = coordinator->metrics().heartbeat_count;
  ASSERT_TRUE(eventually([&] { return coordinator->metrics().heartbeat_count > before + 8; }));
  EXPECT_TRUE(coordinator->is_leader());
  coordinator->stop();
  EXPECT_FALSE(coordinator->is_leader());
  const auto state = hub->store().get(NamespaceKeys("default").state);
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(decode_leader_state(state->body)->leader.has_value());
  plugin->let_go = true;
  ASSERT_TRUE(eventually([&] { return !plugin->valid_afterwards.load(); }));
}

TEST(HubTest, OtherOptionsForTheSameNamespaceAreReported) {
  std::atomic<int> warnings{0};
  set_log_sink([&](const LogLine& line) { warnings += line.level == LogLevel::kWarn ? 1 : 0; });
  const auto hub = Hub::open("memory:").value();
  const auto first = hub->coordinator("default", quick()).value();
  EXPECT_EQ(hub->coordinator("default", quick()).value(), first);
  EXPECT_EQ(warnings, 0);
  EXPECT_EQ(hub->coordinator("default", {}).value(), first);
  EXPECT_EQ(warnings, 1);
  set_log_sink({});
}

TEST(HubTest, BadAddressesAndOptionsAreRefusedWithASentence) {
  EXPECT_TRUE(Hub::open("nonsense").is(Errc::kInvalid));
  const auto hub = Hub::open("memory:").value();
  CoordinatorOptions unsafe;
  unsafe.lease_timeout = 1s;
  EXPECT_TRUE(hub->coordinator("default", unsafe).is(Errc::kInvalid));
  EXPECT_TRUE(hub->coordinator("a/b", quick()).is(Errc::kInvalid));
}

}  // namespace hub_test
}  // namespace muster
