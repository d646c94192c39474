// A worker that stops cleanly, at default settings.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/coordinator/stores.h"

namespace muster {
namespace departure_test {

using Json = nlohmann::json;

/// How many workers there are, by the last that this one was told.
std::size_t live(const WorkerLog& log) {
  for (auto event = log.events.rbegin(); event != log.events.rend(); ++event) {
    if (event->at("event") == "workers:updated") return event->at("workers").size();
  }
  return 0;
}

class DepartureTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Stores, DepartureTest, ::testing::Values("s3", "file"),
                         [](const auto& store) { return store.param; });

// R12: takes up to 25 s: default heartbeats of 5 to 6 s are what is tested, and three workers must
// have been seen before one of them leaves.
TEST_P(DepartureTest, IsSeenByTheLeaderWithinAHeartbeatAndCountedByNobody) {
  Fleet fleet(fresh_store(GetParam()), Json::object());
  for (const char* id : {"a", "b", "c"}) fleet.start(id);
  const std::string leader = fleet.wait_for_leader();
  ASSERT_NE(leader, "");
  for (const auto& [name, worker] : fleet.workers()) {
    ASSERT_TRUE(worker->eventually([](const WorkerLog& log) { return live(log) == 3; })) << name;
  }
  const std::string leaver = leader == "c" ? "b" : "c";
  EXPECT_EQ(fleet.at(leaver).leave(), 0);
  const MonoTime left = boot_now();
  const auto two_are_left = [](const WorkerLog& log) { return live(log) == 2; };
  ASSERT_TRUE(fleet.at(leader).eventually(two_are_left));
  EXPECT_LT(boot_now() - left, 7s) << "a heartbeat, and the time of a request";
  for (const auto& [name, worker] : fleet.workers()) {
    if (name == leaver) continue;
    ASSERT_TRUE(worker->eventually(two_are_left)) << name;
    EXPECT_LT(boot_now() - left, 14s) << "and a follower's own look";
    worker->tell("metrics");
    ASSERT_TRUE(worker->eventually([](const WorkerLog& log) { return !log.answers.empty(); }));
    EXPECT_EQ(worker->log().answers.back().at("metrics").at("workerTimeouts"), 0) << name;
  }
}

}  // namespace departure_test
}  // namespace muster
