// A directory on which a power loss or a bad disk has damaged what an election rests on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/run_program.h"

namespace muster {
namespace run_damage_test {

using testing::HasSubstr;
namespace fs = std::filesystem;

class RunDamageTest : public testing::Test {
 protected:
  /// Leads once, with a lease of two seconds, and prints its epoch.
  [[nodiscard]] Outcome lead() const {
    const Words options{"--lease-timeout", "2s", "--takeover-delay", "100ms", "--wait", "60s"};
    return run_job(store_, options, {"sh", "-c", "echo $MUSTER_EPOCH"});
  }
  [[nodiscard]] fs::path file(const std::string& name) const {
    return dir_.path() / "store/objects/plugin=coordinator+/namespace=job+" / name;
  }

  TempDir dir_;
  std::string store_ = "file://" + (dir_.path() / "store").string() + "?sync=off";
};

// S18: the file is named, and after the longest lease someone leads above every epoch there was.
TEST_F(RunDamageTest, AStateThatIsEmptyIsReplacedAfterTheLongestLease) {
  for (const char* epoch : {"1\n", "2\n"}) ASSERT_EQ(lead().out, epoch);
  ASSERT_TRUE(fs::exists(file("state.json")));
  fs::resize_file(file("state.json"), 0);
  const Outcome again = lead();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "3\n");
  EXPECT_THAT(again.err, HasSubstr(file("state.json").string() + " is too short for an object"));
  EXPECT_EQ(lead().out, "4\n");
}

TEST_F(RunDamageTest, AStateThatIsDamagedUnderItsLeaderEndsNoElection) {
  Runner leader(store_, "n1", {}, {"sleep", "1000"});
  const auto first = leader.next("became_leader");
  ASSERT_FALSE(first.is_null());
  Runner standby(store_, "n2", {}, {"sleep", "1000"});
  fs::resize_file(file("state.json"), fs::file_size(file("state.json")) - 1);
  leader.kill();
  const auto second = standby.next("became_leader");
  ASSERT_FALSE(second.is_null());
  EXPECT_GT(second["epoch"], first["epoch"]);
}

TEST_F(RunDamageTest, AFloorThatLostAByteIsMadeAnewFromTheState) {
  ASSERT_EQ(lead().out, "1\n");
  fs::resize_file(file("metadata.json"), fs::file_size(file("metadata.json")) - 1);
  const Outcome again = lead();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "2\n");
}

// Orders to the leader are read from what is there; a damaged one is reported and written over.
TEST_F(RunDamageTest, ADamagedOrderIsReplacedByTheNext) {
  Runner leader(store_, "n1", {}, {"sleep", "1000"});
  ASSERT_FALSE(leader.next("child_started").is_null());
  std::ofstream(file("control.json")) << "not an order";
  const Words order{"step-down", "--arbiter", store_, "--name", "job", "--wait", "60s"};
  const Outcome asked = run_muster(order);
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("n1 obeys"));
}

}  // namespace run_damage_test
}  // namespace muster
