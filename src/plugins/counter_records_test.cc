#include "plugins/counter_records.h"

#include <gtest/gtest.h>

namespace muster::counters {
namespace counter_records_test {

TEST(CounterRecordsTest, KeysHoldTheWholeDelta) {
  const Keys keys("default");
  for (const Delta& delta : {Delta{"visits", "lane-1", 1, 5}, Delta{"v:2", "l", UINT64_MAX, -7}}) {
    EXPECT_EQ(keys.delta_of(keys.delta(delta)), delta);
  }
}

TEST(CounterRecordsTest, NumbersOfALaneAreInKeyOrder) {
  const Keys keys("default");
  EXPECT_LT(keys.delta({"c", "l", 9, 1}), keys.delta({"c", "l", 10, 1}));
}

TEST(CounterRecordsTest, ForeignKeysAreNoDeltas) {
  const Keys keys("default");
  const std::string prefix = keys.deltas;
  for (const char* rest :
       {"", "counter=c/lane=l/number=1", "counter=c/lane=l/number=1/amount=",
        "counter=c/lane=l/number=x/amount=1", "counter=/lane=l/number=1/amount=1",
        "counter=c/lane=l/number=1/amount=1x", "counter=c/lane=l/number=1/amount=1/more"}) {
    EXPECT_FALSE(keys.delta_of(prefix + rest)) << rest;
  }
  EXPECT_FALSE(keys.delta_of("elsewhere/counter=c/lane=l/number=1/amount=1"));
}

TEST(CounterRecordsTest, TotalsAreReadBack) {
  Total total;
  total.value = INT64_MIN;
  total.epoch = Epoch(7);
  total.lanes = {{"a", {1, 0s}}, {"b", {UINT64_MAX, 90min}}};
  total.updated_at = wall_from_ms(1234);
  const auto read = decode_total(encode(total, "nonce"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->value, total.value);
  EXPECT_EQ(read->epoch, total.epoch);
  ASSERT_EQ(read->lanes.size(), 2u);
  EXPECT_EQ(read->lanes.at("a").folded, 1u);
  EXPECT_EQ(read->lanes.at("b").folded, UINT64_MAX);
  EXPECT_EQ(read->lanes.at("b").silent, 90min);
  EXPECT_EQ(read->updated_at, total.updated_at);
}

TEST(CounterRecordsTest, DamagedTotalsAreCorrupt) {
  for (const char* body :
       {"", "[]", "{}", R"({"value":"1","epoch":1,"lanes":{},"updatedAt":1})",
        R"({"value":9223372036854775808,"epoch":1,"lanes":{},"updatedAt":1})",
        R"({"value":1,"epoch":"1","lanes":{},"updatedAt":1})",
        R"({"value":1,"epoch":1,"lanes":[],"updatedAt":1})",
        R"({"value":1,"epoch":1,"lanes":{"a":1},"updatedAt":1})",
        R"({"value":1,"epoch":1,"lanes":{"a":[1,-1]},"updatedAt":1})",
        // As durations and times these would overflow.
        R"({"value":1,"epoch":1,"lanes":{"a":[1,9223372036854775]},"updatedAt":1})",
        R"({"value":1,"epoch":1,"lanes":{},"updatedAt":18446744073709551615})"}) {
    EXPECT_TRUE(decode_total(body).is(Errc::kCorrupt)) << body;
  }
}

}  // namespace counter_records_test
}  // namespace muster::counters
