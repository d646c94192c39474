#include "server/api/store_hub.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "muster/v1/store.pb.h"
#include "server/rpc/testing_call.h"
#include "sim/world.h"

namespace muster::server {
namespace store_hub_test {

using rpc::TestingCall;

class StoreHubTest : public ::testing::Test {
 protected:
  void put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(state_.apply(cluster::encode(cluster::StorePut{key, value, {}, {}, {}}),
                             {++index_, 0, {}}));
    hub_.publish();
  }
  std::shared_ptr<TestingCall> watch(const std::string& prefix, cluster::KvRevision after) {
    auto call = std::make_shared<TestingCall>();
    hub_.watch(call, prefix, after, "h1");
    return call;
  }
  static v1::StoreWatchResponse response(const TestingCall& call, std::size_t i) {
    v1::StoreWatchResponse result;
    EXPECT_LT(i, call.written.size());
    if (i < call.written.size()) {
      EXPECT_TRUE(result.ParseFromString(*call.written[i]));
    }
    return result;
  }

  sim::World world_{1};
  sim::Process process_{world_, 1.0, 0s};
  cluster::ClusterState state_;
  std::uint64_t index_ = 0;
  StoreHub hub_{process_, state_, {.keepalive = 30s, .response_events = 3, .response_bytes = 100}};
};

TEST_F(StoreHubTest, TellsWhatConcernsThePrefixAndPassesTheRest) {
  auto call = watch("a/", 0);
  call->take();
  put("b/1", "x");
  EXPECT_EQ(call->written.size(), 1U) << "only the greeting";
  put("a/1", "y");
  ASSERT_EQ(call->written.size(), 2U);
  EXPECT_EQ(response(*call, 1).events(0).object().value(), "y");
  EXPECT_EQ(response(*call, 1).revision(), cluster::kv_revision(2, 0));
}

TEST_F(StoreHubTest, TheFirstResponseTellsTheHistory) {
  auto call = watch("", 0);
  put("a", "x");
  call->take_all();
  ASSERT_EQ(call->written.size(), 2U);
  EXPECT_EQ(response(*call, 0).history(), "h1");
  EXPECT_EQ(response(*call, 1).history(), "");
}

TEST_F(StoreHubTest, ASlowWatcherGetsWhatItMissedTogetherAndInOrder) {
  auto call = watch("", 0);
  for (int i = 0; i < 5; ++i) put("k", std::to_string(i));
  call->take_all();
  ASSERT_EQ(call->written.size(), 3U);
  EXPECT_EQ(response(*call, 1).events_size(), 3) << "no more than a response may hold";
  EXPECT_EQ(response(*call, 2).events_size(), 2);
  EXPECT_EQ(response(*call, 2).events(1).object().value(), "4");
}

TEST_F(StoreHubTest, AWatcherThatTheHistoryHasOvertakenIsReset) {
  auto call = watch("", 0);
  for (int i = 0; i < 10'001; ++i) put("k", "v");
  put("k", "last");
  call->take();
  EXPECT_TRUE(response(*call, 1).reset());
  EXPECT_EQ(response(*call, 1).revision(), state_.kv().revision());
  call->take();
  put("k", "after");
  EXPECT_EQ(response(*call, 2).events(0).object().value(), "after");
  EXPECT_TRUE(response(*watch("", 1), 0).reset()) << "a cursor from before the history";
}

// As after a restore: the cursor was made where more had happened.
TEST_F(StoreHubTest, AWatcherOfAnotherHistoryIsReset) {
  put("k", "1");
  auto call = watch("", cluster::kv_revision(2, 0));
  EXPECT_TRUE(response(*call, 0).reset());
  EXPECT_EQ(response(*call, 0).revision(), state_.kv().revision());
  call->take();
  put("k", "2");
  EXPECT_EQ(response(*call, 1).events(0).object().value(), "2");
}

TEST_F(StoreHubTest, TheCursorMovesOnInSilence) {
  auto call = watch("a/", 0);
  call->take();
  put("b", "x");
  world_.run(31s);
  ASSERT_EQ(call->written.size(), 2U);
  EXPECT_EQ(response(*call, 1).revision(), cluster::kv_revision(1, 0));
  EXPECT_EQ(response(*call, 1).events_size(), 0);
}

}  // namespace store_hub_test
}  // namespace muster::server
