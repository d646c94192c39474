// S04, measured elsewhere: with the store frozen for 62 s and a lease of 5 s, everybody went on
// leading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/coordinator/stores.h"
#include "tests/support/radosgw.h"

namespace muster {
namespace hung_gateway_test {

using ::testing::IsEmpty;

// Takes about 65 s: the gateway hangs for 62 s, longer than a minute and twelve leases of 5 s, and
// nobody may lead in all that time.
TEST(HungGatewayTest, NobodyLeadsPastAFiveSecondLeaseInSixtyTwoSeconds) {
  RadosGateway& gateway = RadosGateway::shared();
  Fleet fleet(fresh_store("s3"), {{"heartbeatInterval", 1000},
                                  {"heartbeatJitter", 200},
                                  {"leaseTimeout", 5000},
                                  {"workerTimeout", 8000},
                                  {"startupJitterMax", 0},
                                  {"circuitBreaker", {{"resetTimeout", 2000}}}});
  for (const char* id : {"a", "b", "c"}) fleet.start(id);
  ASSERT_NE(fleet.wait_for_leader(), "");
  const std::uint64_t epoch = fleet.epoch();
  gateway.hang(gateway.port());
  const MonoTime hung = boot_now();
  let_pass(62s);
  EXPECT_THAT(fleet.beliefs_between(hung + 5s, boot_now()), IsEmpty());
  for (const auto& [name, worker] : fleet.workers()) {
    EXPECT_GT(worker->log().latest->from, hung + 61s) << name << " was asked until the end";
    EXPECT_LE(worker->log().count("term:ended"), 1u);
  }
  gateway.resume(gateway.port());
  EXPECT_NE(fleet.wait_for_leader(epoch), "");
  EXPECT_THAT(contradictions(fleet.beliefs()), IsEmpty());
  EXPECT_THAT(contradictions(fleet.accepted_writes()), IsEmpty());
}

}  // namespace hung_gateway_test
}  // namespace muster
