#include "core/membership/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace muster::membership {
namespace options_test {

using ::testing::HasSubstr;

TEST(MembershipOptionsTest, TheDefaultsAreThoseOfTheSpecificationAndValid) {
  const Options options;
  EXPECT_EQ(options.heartbeat_interval, 10s);
  EXPECT_EQ(options.suspect_timeout, 45s);
  EXPECT_EQ(options.down_timeout, 90s);
  EXPECT_EQ(options.joining_timeout, 300s);
  EXPECT_EQ(options.leader_grace_period, 90s);
  EXPECT_EQ(options.heartbeat_batch_interval, 1s);
  EXPECT_EQ(options.flap_window, 600s);
  EXPECT_EQ(options.flap_threshold, 3U);
  EXPECT_EQ(options.ring.virtual_nodes_per_physical, 16U);
  EXPECT_EQ(options.ring.replication_factor, 3U);
  EXPECT_TRUE(options.validate());
}

TEST(MembershipOptionsTest, ValuesThatCannotWorkTogetherAreRefusedWithTheReason) {
  struct Row {
    void (*spoil)(Options&);
    const char* names;
    const char* why;
  };
  const Row rows[] = {
      {[](Options& o) { o.heartbeat_interval = 0s; }, "heartbeat_interval", "more than 0"},
      {[](Options& o) { o.down_timeout = -1s; }, "down_timeout", "more than 0"},
      {[](Options& o) { o.joining_timeout = 10000h; }, "joining_timeout", "7 days"},
      {[](Options& o) { o.heartbeat_batch_interval = 11s; }, "heartbeat_batch_interval", "longer"},
      {[](Options& o) { o.suspect_timeout = 30s; }, "suspect_timeout 30s", "lost packets"},
      {[](Options& o) { o.down_timeout = 45s; }, "down_timeout 45s", "SUSPECT comes first"},
      {[](Options& o) { o.leader_grace_period = 89s; }, "leader_grace_period", "time to find it"},
      {[](Options& o) { o.joining_timeout = 44s; }, "joining_timeout 44s", "first heartbeats"},
      {[](Options& o) { o.flap_threshold = 0; }, "flap_threshold", "between 1 and 16"},
      {[](Options& o) { o.flap_threshold = 17; }, "flap_threshold", "between 1 and 16"},
      {[](Options& o) { o.flap_window = 135s; }, "flap_window", "never begin"},
      {[](Options& o) { o.down_brake_window = 0s; }, "down_brake_window", "more than 0"},
      {[](Options& o) { o.down_brake_share = 0; }, "down_brake_share", "more than 0"},
      {[](Options& o) { o.down_brake_share = 1.01; }, "down_brake_share", "at most 1"},
      {[](Options& o) { o.down_brake_share = std::numeric_limits<double>::quiet_NaN(); },
       "down_brake_share", "more than 0"},
      {[](Options& o) { o.ring.replication_factor = 0; }, "replication_factor", "between"},
  };
  for (const Row& row : rows) {
    Options options;
    row.spoil(options);
    const Status status = options.validate();
    ASSERT_TRUE(status.is(Errc::kInvalid)) << row.names;
    EXPECT_THAT(status.error().message, HasSubstr(row.names));
    EXPECT_THAT(status.error().message, HasSubstr(row.why));
  }
}

}  // namespace options_test
}  // namespace muster::membership
