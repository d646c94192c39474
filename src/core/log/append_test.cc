#include "core/log/append.h"

#include <gtest/gtest.h>

namespace muster::rlog {
namespace append_test {

constexpr MonoTime kStart{100s};
const Status kCreated{Done{}};
const Status kLost{Errc::kAmbiguous, "no reply"};
const Status kTaken{Errc::kConflict, "exists"};
const Result<std::string> kAbsent{Errc::kNotFound, "absent"};

Append append(bool guarded) {
  return {Index(7), "mine", {guarded, kStart + 10s, 100ms}};
}
template <typename T>
bool is(const Append::Step& step) {
  return std::holds_alternative<T>(step.next);
}

TEST(AppendTest, OneRoundTripWhereTheStoreHasTransactions) {
  Append one = append(true);
  EXPECT_TRUE(is<Append::Put>(one.begin()));
  EXPECT_TRUE(is<Append::Own>(one.put_answered(kCreated, kStart)));
}

// P21: a created entry counts only with the floor, read afterwards, below it.
TEST(AppendTest, ReadsTheFloorAfterACreationWithoutTransactions) {
  Append one = append(false);
  EXPECT_TRUE(is<Append::ReadManifest>(one.put_answered(kCreated, kStart)));
  EXPECT_TRUE(is<Append::Own>(one.manifest_read(Index(6), kStart)));

  Append late = append(false);
  (void)late.put_answered(kCreated, kStart);
  const Append::Step step = late.manifest_read(Index(7), kStart);
  ASSERT_TRUE(is<Append::Unknown>(step));
  EXPECT_TRUE(std::get<Append::Unknown>(step.next).compacted);
}

TEST(AppendTest, SendsTheSameBytesUntilTheNumberIsSettled) {
  Append one = append(false);
  EXPECT_TRUE(is<Append::ReadEntry>(one.put_answered(kLost, kStart)));
  EXPECT_TRUE(is<Append::ReadManifest>(one.entry_read(kAbsent, kStart)));
  EXPECT_TRUE(is<Append::Put>(one.manifest_read(Index(), kStart)));
  EXPECT_EQ(one.body(), "mine");
}

TEST(AppendTest, KnowsItsOwnEntryAgainAfterALostReply) {
  Append one = append(false);
  (void)one.put_answered(kLost, kStart);
  EXPECT_TRUE(is<Append::ReadManifest>(one.entry_read(std::string("mine"), kStart)));
  EXPECT_TRUE(is<Append::Own>(one.manifest_read(Index(), kStart)));
}

TEST(AppendTest, HandsOverTheOthersEntry) {
  Append one = append(true);
  EXPECT_TRUE(is<Append::ReadEntry>(one.put_answered(kTaken, kStart)));
  const Append::Step step = one.entry_read(std::string("theirs"), kStart);
  ASSERT_TRUE(is<Append::Other>(step));
  EXPECT_EQ(std::get<Append::Other>(step.next).body, "theirs");
}

// An entry that is gone was compacted: whether it was mine, nobody can tell.
TEST(AppendTest, AConflictWhoseEntryIsGoneIsUnknown) {
  Append one = append(true);
  (void)one.put_answered(kTaken, kStart);
  EXPECT_TRUE(is<Append::ReadManifest>(one.entry_read(kAbsent, kStart)));
  EXPECT_TRUE(is<Append::Unknown>(one.manifest_read(Index(9), kStart)));
}

TEST(AppendTest, WaitsAsLongAsAThrottlingStoreSays) {
  Append one = append(true);
  const Status throttled(Error{Errc::kThrottled, "slow down", 2s});
  const Append::Step step = one.put_answered(throttled, kStart);
  EXPECT_TRUE(is<Append::Put>(step));
  EXPECT_EQ(step.wait, 2s);
}

// R02: clients are answered when the append is given up, not when the store would like to be asked.
TEST(AppendTest, AnHourThatAThrottlingStoreAsksForIsNotWaitedOut) {
  Append one = append(true);
  const Status throttled(Error{Errc::kThrottled, "slow down", 1h});
  EXPECT_EQ(one.put_answered(throttled, kStart).wait, 5s);
  EXPECT_EQ(one.put_answered(throttled, kStart + 8s).wait, 1s);
  EXPECT_EQ(one.put_answered(throttled, kStart + 9950ms).wait, 100ms);
}

TEST(AppendTest, GivesUpWithoutClaimingAnything) {
  Append one = append(true);
  const Append::Step step = one.put_answered(kLost, kStart + 10s);
  ASSERT_TRUE(is<Append::Unknown>(step));
  EXPECT_FALSE(std::get<Append::Unknown>(step.next).compacted);
}

}  // namespace append_test
}  // namespace muster::rlog
