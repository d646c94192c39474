#include "server/security/read_lane.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/rpc/testing_call.h"
#include "sim/world.h"

namespace muster::server {
namespace read_lane_test {

class ReadLaneTest : public ::testing::Test {
 protected:
  std::shared_ptr<rpc::TestingCall> read() {
    auto call = std::make_shared<rpc::TestingCall>();
    lane_.add(call, [this] { done_ += 'r'; });
    return call;
  }
  void heartbeat() {
    process_.post([this] { done_ += 'h'; });
  }

  sim::World world_{1};
  sim::Process process_{world_, 1.0, 1'800'000'000s};
  std::string done_;
  ReadLane lane_{process_, 100};
};

TEST_F(ReadLaneTest, AHeartbeatWaitsForAtMostOneOfManyReaders) {
  for (int i = 0; i < 50; ++i) read();
  heartbeat();
  world_.run(world_.now() + 1s);
  EXPECT_LE(done_.find('h'), 2U) << done_;
  EXPECT_EQ(done_.size(), 51U);
}

TEST_F(ReadLaneTest, ALoneReaderIsAnsweredAtOnce) {
  read();
  EXPECT_EQ(done_, "r");
  world_.run(world_.now() + 1s);
  read();
  EXPECT_EQ(done_, "rr");
}

TEST_F(ReadLaneTest, WhoIsOneTooManyIsRefusedAndWhoHasGoneIsPassedOver) {
  read();
  const auto gone = read();
  gone->end();
  for (int i = 0; i < 99; ++i) read();
  const auto refused = read();
  ASSERT_TRUE(refused->finished.has_value());
  EXPECT_EQ(refused->finished->code, rpc::Code::kResourceExhausted);
  world_.run(world_.now() + 1s);
  EXPECT_EQ(done_, std::string(100, 'r'));
}

}  // namespace read_lane_test
}  // namespace muster::server
