// The ready-made plugins under one real coordinator, on each real store.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "coordinator/hub.h"
#include "platform/system_clock.h"
#include "plugins/counters.h"
#include "plugins/queue.h"
#include "plugins/ttl.h"
#include "tests/coordinator/stores.h"

namespace muster {
namespace plugins_test {

bool eventually(const std::function<bool()>& condition) {
  const MonoTime limit = boot_now() + 60s;
  while (!condition()) {
    if (boot_now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

class PluginsOnStoreTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto opened = Hub::open(fresh_store(GetParam()));
    ASSERT_TRUE(opened) << opened.error().message;
    hub = std::move(*opened);
    SyncStore& store = hub->store();
    QueueOptions queue_options;
    queue_options.dispatch_interval = 100ms;
    queue_options.backoff = 100ms;
    queue_options.attempts_max = 2;
    queue = std::make_shared<Queue>(store, WorkerId("w"), queue_options);
    CounterOptions counter_options;
    counter_options.fold_interval = 100ms;
    counters = std::make_shared<Counters>(store, counter_options);
    TtlOptions ttl_options;
    ttl_options.prefix = "sessions/";
    ttl_options.interval = 100ms;
    ttl = std::make_shared<Ttl>(store, ttl_options);
    CoordinatorOptions options;
    options.startup_jitter_max = 0s;
    coordinator = hub->coordinator("plugins", options).value();
    coordinator->subscribe(queue);
    coordinator->subscribe(counters);
    coordinator->subscribe(ttl);
    coordinator->start();
    ASSERT_TRUE(eventually([this] { return coordinator->is_leader(); }));
  }

  std::unique_ptr<Hub> hub;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Counters> counters;
  std::shared_ptr<Ttl> ttl;
  std::shared_ptr<GlobalCoordinator> coordinator;
};

// S08: tickets are stamped with the leader's epoch and checked where they are taken.
TEST_P(PluginsOnStoreTest, DispatchCountAndExpireTogether) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue->enqueue("job " + std::to_string(i)));
  ASSERT_TRUE(queue->enqueue("bad", "bad"));
  ASSERT_TRUE(TtlRecord::create(hub->store(), "sessions/", R"({"user":"gone"})", 1ms));
  const auto kept = TtlRecord::create(hub->store(), "sessions/", R"({"user":"here"})", 1h);
  ASSERT_TRUE(kept) << kept.error().message;

  int done = 0;
  const auto handler = [&](QueueClaim& claim) -> Status {
    if (!claim.guard().valid()) return {Errc::kCancelled, "the claim has ended"};
    if (claim.payload() == "bad") return {Errc::kInvalid, "planted"};
    ++done;
    return counters->add("done", 1);
  };
  ASSERT_TRUE(eventually([&] {
    const auto ran = queue->run_one(handler);
    const auto dead = queue->dead_letters();
    return ran && done == 3 && dead && dead->size() == 1;
  }));
  EXPECT_EQ(queue->dead_letters()->front().reason, "planted");
  EXPECT_EQ(*counters->read("done"), 3);
  EXPECT_TRUE(eventually([&] { return counters->consolidated("done").value() == 3; }));
  EXPECT_TRUE(eventually([&] { return ttl->metrics().removed == 1; }));
  EXPECT_FALSE(is_tombstone(hub->store().get(kept->key())->body));
  EXPECT_EQ(coordinator->metrics().plugin_failures, 0u);
}

INSTANTIATE_TEST_SUITE_P(Stores, PluginsOnStoreTest, ::testing::ValuesIn(store_kinds()),
                         [](const auto& test) { return test.param; });

}  // namespace plugins_test
}  // namespace muster
