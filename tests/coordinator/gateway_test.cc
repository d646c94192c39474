// The gateway goes away and comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/coordinator/stores.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/radosgw.h"

namespace muster {
namespace gateway_test {

using ::testing::IsEmpty;
using Json = nlohmann::json;

// S04, S07: no store, no leader; and when it is back, one with a higher epoch.
TEST(KilledGatewayTest, NobodyLeadsPastTheLeaseUntilItIsBack) {
  // Takes about 13 s: radosgw starts, and is then killed twice for 3 s, two leases of 1.5 s, in the
  // second of which nobody may lead.
  RadosGateway& gateway = RadosGateway::shared();
  Fleet fleet(fresh_store("s3"), quick_options());
  for (const char* id : {"a", "b", "c"}) fleet.start(id);
  ASSERT_TRUE(fleet.settles());
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t epoch = fleet.epoch();
    ASSERT_TRUE(fleet.settles());
    gateway.kill(gateway.port());
    const MonoTime killed = boot_now();
    let_pass(3s);
    const MonoTime back = boot_now();
    EXPECT_THAT(fleet.beliefs_between(killed + 1500ms, back), IsEmpty());
    for (const auto& [name, worker] : fleet.workers()) {
      EXPECT_GT(worker->log().latest->from, killed + 1500ms) << name << " went on looking";
    }
    gateway.start(gateway.port());
    EXPECT_NE(fleet.wait_for_leader(epoch), "");
  }
  EXPECT_THAT(contradictions(fleet.beliefs()), IsEmpty());
  EXPECT_THAT(contradictions(fleet.accepted_writes()), IsEmpty());
}

// S12: the breaker opens at its threshold, is half-open after its timeout, and closes; events and
// metrics say the same.
TEST(KilledGatewayTest, TheBreakerOpensHalfOpensAndCloses) {
  RadosGateway& gateway = RadosGateway::shared();
  Fleet fleet(fresh_store("s3"), quick_options({{"circuitBreaker.failureThreshold", 3}}));
  for (const char* id : {"a", "b"}) fleet.start(id);
  ASSERT_TRUE(fleet.settles());
  gateway.kill(gateway.port());
  for (const auto& [name, worker] : fleet.workers()) {
    EXPECT_TRUE(worker->eventually([](const WorkerLog& log) {
      return log.count("circuitBreaker:open") >= 2 && log.count("circuitBreaker:half-open") >= 1;
    })) << name;
    EXPECT_EQ(worker->log().count("circuitBreaker:closed"), 0u);
    const auto events = worker->log().events;
    const auto open = std::find_if(events.begin(), events.end(), [](const Json& event) {
      return event.at("event") == "circuitBreaker:open";
    });
    EXPECT_EQ(open->at("failureCount"), 3);
  }
  gateway.start(gateway.port());
  EXPECT_NE(fleet.wait_for_leader(), "");
  for (const auto& [name, worker] : fleet.workers()) {
    EXPECT_TRUE(worker->eventually([](const WorkerLog& log) {
      return log.count("circuitBreaker:closed") == 1;
    })) << name;
    worker->tell("metrics");
    ASSERT_TRUE(worker->eventually([](const WorkerLog& log) { return !log.answers.empty(); }));
    const WorkerLog log = worker->log();
    const Json& breaker = log.answers.back().at("breaker");
    EXPECT_EQ(breaker.at("state"), "closed");
    EXPECT_EQ(breaker.at("trips"), log.count("circuitBreaker:open"));
  }
}

// R02: a gateway that asks for ten minutes is asked again at the next heartbeat: nobody led for 100
// s after it was well.
TEST(ThrottlingGatewayTest, ThereIsALeaderWithinALeaseAndTwoSecondsAfterIt) {
  FaultProxy proxy(RadosGateway::shared().port());
  const std::string prefix = "throttled-" + system_random().uuid();
  Fleet fleet(RadosGateway::shared().url(prefix, proxy.port()), quick_options());
  for (const char* id : {"a", "b"}) fleet.start(id);
  ASSERT_TRUE(fleet.settles());
  const std::uint64_t epoch = fleet.epoch();
  proxy.inject({.kind = Fault::Kind::kAnswer,
                .method = {},
                .path_part = {},
                .answer = s3_answers::slow_down(600),
                .times = 1'000'000});
  ASSERT_TRUE(eventually([&] { return !fleet.leader(); }));
  let_pass(1500ms);
  proxy.reset();
  const MonoTime well = boot_now();
  EXPECT_NE(fleet.wait_for_leader(epoch), "");
  EXPECT_LT(boot_now() - well, 1500ms + 2s);
  EXPECT_THAT(contradictions(fleet.beliefs()), IsEmpty());
}

}  // namespace gateway_test
}  // namespace muster
