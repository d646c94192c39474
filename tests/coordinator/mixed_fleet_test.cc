// E9: real workers of s3db.js 21.6 and of Muster in one namespace. They come to agree on one
// leader, whichever side leads; exclusion between them holds only where epochs are fenced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/support/radosgw.h"

namespace muster {
namespace mixed_fleet_test {

using ::testing::AnyOf;
using ::testing::IsEmpty;
using Json = nlohmann::json;

const std::string kSource = MUSTER_SOURCE_DIR;
constexpr int kSkipped = 77;  // Known to ctest, which then says so.

/// Where s3db.js is installed; found out before anything else is started.
class Installation : public ::testing::Environment {
 public:
  void SetUp() override {
    ChildProcess install(
        {kSource + "/tools/testing/s3db_install.sh", kSource + "/build/npm-s3db", "21.6.2"});
    modules() = install.read_line();
    if (install.finish() == 0) return;
    std::fprintf(stderr,
                 "SKIPPED: the mixed fleet was not tested, since s3db.js is not to be had\n");
    std::exit(kSkipped);
  }
  static std::string& modules() {
    static std::string path;
    return path;
  }
};
[[maybe_unused]] const auto* const kInstallation =
    ::testing::AddGlobalTestEnvironment(new Installation);

/// The shortest times that s3db.js takes.
const Json kTimes = {{"heartbeatInterval", 1000},
                     {"heartbeatJitter", 200},
                     {"leaseTimeout", 5000},
                     {"workerTimeout", 6000}};

Json muster_times() {
  Json times = kTimes;
  times["startupJitterMax"] = 0;
  return times;
}

class MixedFleetTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_THAT(contradictions(fleet_.accepted_writes()), IsEmpty())
        << "a fenced resource never accepts a lower epoch";
    EXPECT_THAT(fleet_.accepted_writes(), ::testing::Not(IsEmpty()));
  }

  Worker& start_s3db(const std::string& id) {
    const std::string endpoint =
        "http://127.0.0.1:" + std::to_string(RadosGateway::shared().port());
    return fleet_.adopt(
        id, {{"node", kSource + "/tests/coordinator/s3db/worker.mjs", Installation::modules(),
              endpoint, RadosGateway::kBucket, prefix_, Fleet::kNamespace, id, kTimes.dump()},
             {}});
  }
  /// The one leader that all workers name; empty while they do not agree.
  [[nodiscard]] std::string agreed() const {
    std::set<std::string> named;
    for (const auto& [name, worker] : fleet_.workers()) named.insert(worker->log().leader);
    return named.size() == 1 ? *named.begin() : "";
  }
  /// Waits until all have agreed on one leader for longer than it takes to find a reason not to:
  /// two heartbeats. Empty after a generous time.
  [[nodiscard]] std::string agreement() const {
    std::string leader;
    MonoTime since = boot_now();
    const bool lasting = eventually([&] {
      const std::string now = agreed();
      if (now.empty() || now != leader) since = boot_now();
      leader = now;
      return !leader.empty() && boot_now() - since > 2400ms;
    });
    return lasting ? leader : "";
  }

  const std::string prefix_ = "mixed-" + system_random().uuid();
  Fleet fleet_{RadosGateway::shared().url(prefix_), muster_times()};
};

// Takes about 17 s: radosgw starts, the lease of 5 s of a killed leader, the shortest that s3db.js
// takes, runs out, and two agreements must each last for 2.4 s.
TEST_F(MixedFleetTest, S3dbWorkersFollowALeaderOfOurs) {
  fleet_.start("muster-a");
  fleet_.start("muster-b");
  const std::string leader = fleet_.wait_for_leader();
  ASSERT_NE(leader, "");
  start_s3db("gcs-js-1");
  start_s3db("js-plugin");
  EXPECT_EQ(agreement(), leader);
  // And the next one, after that one died.
  const std::uint64_t epoch = fleet_.epoch();
  fleet_.kill(leader);
  ASSERT_NE(fleet_.wait_for_leader(epoch), "");
  EXPECT_NE(agreement(), "");
}

// Takes about 11 s: the lease of 5 s of a killed leader, the shortest that s3db.js takes, runs out,
// and two agreements must each last for 2.4 s.
TEST_F(MixedFleetTest, OursFollowALeaderOfS3dbAndTakeOverWhenItDies) {
  Worker& script = start_s3db("js-plugin");
  ASSERT_TRUE(script.eventually([](const WorkerLog& log) { return log.leader == "js-plugin"; }));
  fleet_.start("muster-a");
  fleet_.start("muster-b");
  const auto follows = [](const WorkerLog& log) { return log.leader == "js-plugin"; };
  EXPECT_TRUE(fleet_.at("muster-a").eventually(follows));
  EXPECT_TRUE(fleet_.at("muster-b").eventually(follows));
  // Theirs lets its lease run out each time before it is elected again, so it may lose it to ours.
  EXPECT_THAT(agreement(), AnyOf("js-plugin", "muster-a", "muster-b"));
  fleet_.kill("js-plugin");
  const std::string leader = fleet_.wait_for_leader();
  ASSERT_NE(leader, "");
  start_s3db("js-plugin");
  EXPECT_EQ(agreement(), leader) << "a live leader is not displaced";
}

}  // namespace mixed_fleet_test
}  // namespace muster
