#include "cli/event_text.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace event_text_test {

const WallTime kAt = wall_from_ms(1'936'508'889'012);

TEST(EventTextTest, ALineHasTheTimeTheNameAndTheDetails) {
  EXPECT_EQ(event_text(LeaderChangedEvent{"default", {}, WorkerId("w1"), Epoch(3)}, kAt),
            "2031-05-14T07:08:09.012Z leader:changed nobody → w1, epoch 3");
  EXPECT_EQ(event_text(WorkersUpdatedEvent{"default", {WorkerId("a"), WorkerId("b")}}, kAt),
            "2031-05-14T07:08:09.012Z workers:updated 2: a b");
  EXPECT_EQ(event_text(ContentionDetectedEvent{"default", 12s, 5s, 2.4}, kAt),
            "2031-05-14T07:08:09.012Z contention:detected no heartbeat succeeded for 12s, the "
            "interval is 5s");
  EXPECT_EQ(event_text(CircuitBreakerEvent{"default", CircuitState::kOpen, 5}, kAt),
            "2031-05-14T07:08:09.012Z circuitBreaker:open 5 failures");
  EXPECT_EQ(event_text(TermEndedEvent{"default", Epoch(3), LossReason::kExpired}, kAt),
            "2031-05-14T07:08:09.012Z term:ended this worker no longer leads (expired), epoch 3");
  EXPECT_EQ(event_text(TroubleEvent{"default", TroubleEvent::Kind::kUnsafeStore, "no good"}, kAt),
            "2031-05-14T07:08:09.012Z trouble unsafe-store: no good");
}

TEST(EventTextTest, AJsonLineIsTheEventWithItsTime) {
  EXPECT_EQ(event_json(LeaderChangedEvent{"default", {}, WorkerId("w1"), Epoch(3)}, kAt),
            R"({"epoch":3,"event":"leader:changed","namespace":"default","newLeader":"w1",)"
            R"("previousLeader":null,"time":1936508889012})");
}

}  // namespace event_text_test
}  // namespace muster::cli
