#include "tests/api/scene.h"

#include <muster/plugins.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace api_test {

using muster::Counters;
using muster::GlobalCoordinator;
using muster::Queue;
using muster::QueueClaim;
using muster::QueueOptions;
using muster::ScheduledJob;
using muster::ScheduledRun;
using muster::Scheduler;
using muster::Status;
using muster::Ttl;
using muster::TtlOptions;
using muster::TtlRecord;

namespace {

muster::CoordinatorOptions one_worker() {
  muster::CoordinatorOptions options;
  options.worker_id = "w1";
  options.lease_timeout = 3s;
  options.heartbeat_interval = 1s;
  options.worker_timeout = 6s;
  options.startup_jitter_max = 0s;
  options.json = R"({"heartbeatJitter":100})";
  return options;
}

/// A coordinator that leads soon, and what stands on it.
struct PublicPluginsTest : ::testing::Test {
  GlobalCoordinator& lead() {
    coordinator.emplace(GlobalCoordinator::start(arbiter, "jobs", one_worker()).value());
    return *coordinator;
  }
  /// Asks again and again, for as long as a slow machine may need.
  static bool comes_true(const std::function<bool()>& wanted) {
    const auto limit = std::chrono::steady_clock::now() + kSoon;
    while (!wanted()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      std::this_thread::yield();
    }
    return true;
  }

  /// Waits until another plugin of the coordinator has had its turn twice.
  void let_plugins_work() {
    TtlOptions options;
    options.prefix = "empty/";
    options.interval = 1ms;
    const auto other = Ttl::start(*coordinator, options).value();
    EXPECT_TRUE(comes_true([&] { return other.metrics().passes > 1; }));
  }

  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  std::optional<GlobalCoordinator> coordinator;
};

ScheduledJob job(const std::string& name, std::function<void(const ScheduledRun&)> run) {
  ScheduledJob made;
  made.name = name;
  made.cron = "* * * * *";
  made.run = std::move(run);
  return made;
}

QueueOptions quick_queue() {
  QueueOptions options;
  options.dispatch_interval = 20ms;
  options.backoff = 1ms;
  options.backoff_max = 1ms;
  return options;
}

TtlOptions quick_ttl() {
  TtlOptions options;
  options.prefix = "sessions/";
  options.interval = 1ms;
  return options;
}

}  // namespace

// The minute of a real run would have to be waited for: the example of cron does.
TEST_F(PublicPluginsTest, ASchedulerSaysWhatIsWrongWithAJob) {
  lead();
  const auto refused = [&](const std::function<void(ScheduledJob&)>& spoil) {
    ScheduledJob bad = job("nightly", [](const ScheduledRun&) {});
    spoil(bad);
    return Scheduler::start(*coordinator, {bad});
  };
  EXPECT_TRUE(refused([](auto& bad) { bad.name = "a b"; }).is(Code::kInvalid));
  EXPECT_TRUE(refused([](auto& bad) { bad.run = nullptr; }).is(Code::kInvalid));
  EXPECT_TRUE(
      refused([](auto& bad) { bad.tolerance = muster::Duration::max(); }).is(Code::kInvalid));
  EXPECT_FALSE(refused([](auto& bad) { bad.zone = "Nowhere/At_all"; }).ok());
  const auto bad_cron = refused([](auto& bad) { bad.cron = "61 * * * *"; });
  ASSERT_TRUE(bad_cron.is(Code::kInvalid));
  EXPECT_NE(bad_cron.message().find("nightly"), std::string::npos) << bad_cron.message();
  EXPECT_TRUE(Scheduler::start(*coordinator, {}).is(Code::kInvalid));
  const ScheduledJob good = job("a", [](const ScheduledRun&) {});
  EXPECT_TRUE(Scheduler::start(*coordinator, {good, good}).is(Code::kInvalid));
  auto scheduler = Scheduler::start(*coordinator, {good}).value();
  EXPECT_EQ(scheduler.metrics().failed, 0u);
  EXPECT_TRUE(scheduler.stop().ok());
  EXPECT_TRUE(scheduler.stop().ok());
}

TEST_F(PublicPluginsTest, AMessageIsRunUntilItIsAcknowledgedOrDead) {
  auto queue = Queue::open(lead(), quick_queue()).value();
  // Who only enqueues needs no coordinator, and is not led anywhere.
  auto producer = Queue::open(arbiter, "jobs", quick_queue()).value();
  EXPECT_TRUE(producer.claim().is(Code::kInvalid));
  EXPECT_TRUE(
      producer.run_one([](QueueClaim&) -> Status { return muster::Done{}; }).is(Code::kInvalid));
  EXPECT_EQ(producer.enqueue("good", "m1").value(), "m1");
  EXPECT_EQ(producer.enqueue("good", "m1").value(), "m1");
  EXPECT_TRUE(producer.enqueue("other", "m1").is(Code::kConflict));
  EXPECT_TRUE(producer.enqueue("\xff").is(Code::kInvalid));

  std::optional<QueueClaim> claim;
  ASSERT_TRUE(comes_true([&] { return (claim = queue.claim().value()).has_value(); }));
  EXPECT_EQ(claim->id(), "m1");
  EXPECT_EQ(claim->payload(), "good");
  EXPECT_EQ(claim->attempt(), 1u);
  EXPECT_TRUE(claim->valid());
  EXPECT_GT(claim->left(), 0s);
  EXPECT_TRUE(claim->extend().ok());
  EXPECT_TRUE(claim->acknowledge().ok());
  EXPECT_FALSE(claim->valid());
  EXPECT_EQ(claim->left(), 0s);

  const std::string bad = producer.enqueue("bad").value();
  std::optional<QueueClaim> kept;
  int ran = 0;
  const auto handler = [&](QueueClaim& shown) -> Status {
    ++ran;
    EXPECT_EQ(shown.attempt(), static_cast<unsigned>(ran));
    kept = std::move(shown);
    if (ran == 1) throw std::runtime_error("first");
    return {Code::kUnavailable, "attempt " + std::to_string(ran)};
  };
  std::vector<muster::DeadLetter> dead;
  ASSERT_TRUE(comes_true([&] {
    EXPECT_TRUE(queue.run_one(handler).ok());
    dead = queue.dead_letters().value();
    return !dead.empty();
  }));
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(dead[0].id, bad);
  EXPECT_EQ(dead[0].payload, "bad");
  EXPECT_EQ(dead[0].attempts, 3u);
  EXPECT_EQ(dead[0].reason, "attempt 3");
  // What a handler was lent is over when it has returned.
  EXPECT_FALSE(kept->valid());
  EXPECT_TRUE(kept->acknowledge().is(Code::kInvalid));
  EXPECT_TRUE(queue.discard(dead[0]).ok());
  EXPECT_TRUE(queue.discard(dead[0]).ok());
  EXPECT_TRUE(queue.discard({}).is(Code::kInvalid));
  EXPECT_TRUE(queue.dead_letters().value().empty());
}

TEST_F(PublicPluginsTest, WrongOptionsOfAQueueAreNamed) {
  lead();
  const auto refused = [&](const char* option, const std::function<void(QueueOptions&)>& spoil) {
    QueueOptions bad;
    spoil(bad);
    const auto opened = Queue::open(*coordinator, bad);
    EXPECT_TRUE(opened.is(Code::kInvalid)) << option;
    EXPECT_NE(opened.message().find(option), std::string::npos) << opened.message();
    EXPECT_TRUE(Queue::open(arbiter, "jobs", bad).is(Code::kInvalid)) << option;
  };
  refused("queue", [](auto& bad) { bad.name = "a/b"; });
  refused("visibility_timeout",
          [](auto& bad) { bad.visibility_timeout = muster::Duration::max(); });
  refused("dispatch_interval", [](auto& bad) { bad.dispatch_interval = 0s; });
  refused("attempts_max", [](auto& bad) { bad.attempts_max = 0; });
  refused("drift", [](auto& bad) { bad.drift = -1; });
  EXPECT_TRUE(Queue::open(arbiter, "a/b").is(Code::kInvalid));
  EXPECT_TRUE(Counters::open(arbiter, "").is(Code::kInvalid));
  EXPECT_TRUE(Counters::open(*coordinator, {.fold_interval = -1s}).is(Code::kInvalid));
  EXPECT_TRUE(Counters::open(*coordinator, {.pages_max = 0}).is(Code::kInvalid));
  EXPECT_TRUE(Ttl::start(*coordinator, {}).is(Code::kInvalid));
  EXPECT_TRUE(Ttl::start(*coordinator, {.prefix = "plugin=queue/"}).is(Code::kInvalid));
  EXPECT_TRUE(Ttl::start(*coordinator, {.prefix = "a/", .batch_max = 0}).is(Code::kInvalid));
  EXPECT_TRUE(Ttl::start(*coordinator, {.prefix = "a/", .sweep_after = 0s}).is(Code::kInvalid));
  EXPECT_TRUE(TtlRecord::create(arbiter, "", "{}", 1s).is(Code::kInvalid));
  EXPECT_TRUE(TtlRecord::create(arbiter, "a/", "[]", 1s).is(Code::kInvalid));
  EXPECT_TRUE(TtlRecord::create(arbiter, "a/", "{}", 0s).is(Code::kInvalid));
}

TEST_F(PublicPluginsTest, CountersCountAndTheLeaderFolds) {
  muster::CounterOptions often;
  often.fold_interval = 20ms;
  auto counters = Counters::open(lead(), often).value();
  auto elsewhere = Counters::open(arbiter, "jobs").value();
  EXPECT_TRUE(counters.add("orders", 5).ok());
  EXPECT_TRUE(elsewhere.add("orders").ok());
  EXPECT_TRUE(elsewhere.add("a/b").is(Code::kInvalid));
  EXPECT_EQ(elsewhere.read("orders").value(), 6);
  EXPECT_TRUE(comes_true([&] { return elsewhere.consolidated("orders").value() == 6; }));
  EXPECT_TRUE(counters.stop().ok());
  EXPECT_TRUE(counters.add("orders", 1).ok());
  EXPECT_EQ(counters.read("orders").value(), 7);
}

TEST_F(PublicPluginsTest, WhatHasExpiredIsRemovedAndWhatWasRenewedIsNot) {
  std::atomic<int> asked = 0;
  TtlOptions options = quick_ttl();
  options.expiry = [&](const std::string& body) -> std::optional<std::int64_t> {
    ++asked;
    // 1 is long ago.
    return body.find("\"old\"") != std::string::npos ? std::optional<std::int64_t>(1)
                                                     : std::nullopt;
  };
  auto ttl = Ttl::start(lead(), options).value();
  auto stays = TtlRecord::create(arbiter, "sessions/", R"({"user":"ann"})", 1h).value();
  auto goes = TtlRecord::create(arbiter, "sessions/", R"({"user":"ben"})", 1h).value();
  EXPECT_TRUE(goes.key().starts_with("sessions/"));
  EXPECT_TRUE(stays.renew(1h).ok());
  EXPECT_TRUE(goes.renew(1h, R"({"user":"old"})").ok());
  EXPECT_TRUE(comes_true([&] { return ttl.metrics().removed == 1; }));
  EXPECT_TRUE(goes.renew(1h).is(Code::kNotFound));
  EXPECT_TRUE(stays.renew(1h).ok());
  EXPECT_TRUE(ttl.stop().ok());
  const int before = asked;
  EXPECT_GT(before, 0);
  let_plugins_work();
  EXPECT_EQ(asked, before);
  {
    const auto again = Ttl::start(*coordinator, options).value();
    EXPECT_TRUE(comes_true([&] { return asked > before; }));
  }
  const int at_end = asked;
  let_plugins_work();
  EXPECT_EQ(asked, at_end);
  EXPECT_FALSE(muster::is_tombstone("{}"));
  EXPECT_TRUE(muster::is_tombstone(R"({"_tombstone":"muster.ttl"})"));
}

TEST_F(PublicPluginsTest, PluginsAndTheirCoordinatorMayEndInAnyOrder) {
  const std::size_t before = threads();
  std::vector<int> order = {0, 1, 2, 3, 4};
  int round = 0;
  do {
    // All of them would be many elections; each sixth has every handle first and last.
    if (round++ % 6 != 0) continue;
    std::optional<Arbiter> store = Arbiter::open("memory:").value();
    std::optional<GlobalCoordinator> leads =
        GlobalCoordinator::start(*store, "jobs", one_worker()).value();
    std::optional<Queue> queue = Queue::open(*leads, quick_queue()).value();
    std::optional<Counters> counters = Counters::open(*leads).value();
    std::optional<Ttl> ttl = Ttl::start(*leads, quick_ttl()).value();
    std::optional<QueueClaim> claim;
    ASSERT_TRUE(queue->enqueue("m").ok());
    ASSERT_TRUE(comes_true([&] { return (claim = queue->claim().value()).has_value(); }));
    for (const int which : order) {
      if (which == 0) store.reset();
      if (which == 1) leads.reset();
      if (which == 2) queue.reset();
      if (which == 3) counters.reset();
      if (which == 4) ttl.reset();
      EXPECT_TRUE(!queue || queue->enqueue("more").ok());
      EXPECT_TRUE(!counters || counters->add("c", 1).ok());
    }
    // The claim keeps what it needs.
    EXPECT_TRUE(claim->acknowledge().ok());
    claim.reset();
    EXPECT_TRUE(threads_fall_to(before)) << threads();
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_GT(round, 100);
}

TEST_F(PublicPluginsTest, OnAStoppedCoordinatorNothingBegins) {
  lead();
  auto early = Queue::open(*coordinator, quick_queue()).value();
  EXPECT_TRUE(coordinator->stop().ok());
  const auto begun = Scheduler::start(*coordinator, {job("a", [](const ScheduledRun&) {})});
  EXPECT_TRUE(begun.is(Code::kInvalid)) << begun.message();
  EXPECT_TRUE(Queue::open(*coordinator).is(Code::kInvalid));
  EXPECT_TRUE(Counters::open(*coordinator).is(Code::kInvalid));
  EXPECT_TRUE(Ttl::start(*coordinator, quick_ttl()).is(Code::kInvalid));
  // What began before goes on as far as the store alone is asked.
  EXPECT_TRUE(early.enqueue("m").ok());
  EXPECT_TRUE(early.claim().ok());
  EXPECT_TRUE(early.stop().ok());
  const GlobalCoordinator moved = std::move(*coordinator);
  EXPECT_TRUE(Queue::open(*coordinator).is(Code::kInvalid));              // NOLINT
  EXPECT_TRUE(Ttl::start(*coordinator, quick_ttl()).is(Code::kInvalid));  // NOLINT
}

TEST_F(PublicPluginsTest, HandlesThatWereMovedFromRefuse) {
  lead();
  auto queue = Queue::open(*coordinator).value();
  auto counters = Counters::open(*coordinator).value();
  auto ttl = Ttl::start(*coordinator, quick_ttl()).value();
  auto record = TtlRecord::create(arbiter, "sessions/", "{}", 1h).value();
  const Queue queue_now = std::move(queue);
  const Counters counters_now = std::move(counters);
  const Ttl ttl_now = std::move(ttl);
  const TtlRecord record_now = std::move(record);
  EXPECT_TRUE(queue.enqueue("m").is(Code::kInvalid));       // NOLINT
  EXPECT_TRUE(queue.claim().is(Code::kInvalid));            // NOLINT
  EXPECT_TRUE(queue.dead_letters().is(Code::kInvalid));     // NOLINT
  EXPECT_EQ(queue.new_id(), "");                            // NOLINT
  EXPECT_TRUE(counters.add("orders").is(Code::kInvalid));   // NOLINT
  EXPECT_TRUE(counters.read("orders").is(Code::kInvalid));  // NOLINT
  EXPECT_EQ(ttl.metrics().examined, 0u);                    // NOLINT
  EXPECT_TRUE(ttl.stop().ok());                             // NOLINT
  EXPECT_TRUE(record.renew(1s).is(Code::kInvalid));         // NOLINT
  EXPECT_EQ(record.key(), "");                              // NOLINT
}

// A callback would wait for itself.
TEST_F(PublicPluginsTest, InACallbackAPluginEndsWithoutWaiting) {
  std::optional<Ttl> ttl;
  Heard<Code> refused;
  std::atomic<bool> made = false;
  TtlOptions options = quick_ttl();
  std::atomic<int> asked = 0;
  options.expiry = [&](const std::string&) -> std::optional<std::int64_t> {
    ++asked;
    if (made && ttl) {
      refused.add(ttl->stop().code());
      ttl.reset();
    }
    return std::nullopt;
  };
  ttl.emplace(Ttl::start(lead(), options).value());
  made = true;
  const auto record = TtlRecord::create(arbiter, "sessions/", "{}", 1h).value();
  EXPECT_TRUE(refused.wait_for([](Code code) { return code == Code::kInvalid; }));
  let_plugins_work();
  EXPECT_EQ(asked, 1);
  // Nothing of it is left to wait for.
  EXPECT_TRUE(coordinator->stop().ok());
  EXPECT_FALSE(ttl);
}

}  // namespace api_test
