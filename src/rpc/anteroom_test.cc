#include "rpc/anteroom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace muster::rpc {
namespace anteroom_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Closed = Anteroom::Closed;
using Why = Anteroom::Why;

const MonoTime kNow{};

TEST(AnteroomTest, WhoeverComesBeginsAtOnceWhileThereIsPlace) {
  Anteroom room({.each_max = 2, .all_max = 3});
  room.came(1, "a", kNow);
  room.came(2, "a", kNow);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1, 2));
  room.came(3, "a", kNow);
  room.came(4, "b", kNow);
  room.came(5, "c", kNow);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(4)) << "two of a, three in all";
  EXPECT_TRUE(room.waiting());
  room.left(1);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(3));
  room.left(4);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(5));
  EXPECT_FALSE(room.waiting());
}

// A server that stands for years sees more connections than an int can count.
TEST(AnteroomTest, NumbersOfGuestsDoNotOverflow) {
  const Anteroom::Guest later = Anteroom::Guest{1} << 40U;
  Anteroom room({.each_max = 1});
  room.came(1, "a", kNow);
  room.came(1 + later, "a", kNow);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1));
  room.left(1);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1 + later));
}

TEST(AnteroomTest, AHostThatFillsItsPlacesKeepsNobodyElseOut) {
  Anteroom room({.each_max = 2, .all_max = 100});
  for (Anteroom::Guest i = 0; i < 50; ++i) room.came(i, "flooder", kNow);
  room.came(50, "other", kNow);
  const auto turn = room.next(kNow);
  EXPECT_THAT(turn.begin, ::testing::UnorderedElementsAre(0, 1, 50));
  EXPECT_THAT(turn.close, IsEmpty());
}

TEST(AnteroomTest, WhoeverTakesLongMakesPlaceForOneThatWaits) {
  Anteroom room({.each_max = 1, .all_max = 2, .patience = 2s});
  room.came(1, "a", kNow);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1));
  room.spoke(1);
  EXPECT_THAT(room.next(kNow + 1h).close, IsEmpty()) << "nobody waits";
  room.came(2, "a", kNow);
  const auto early = room.next(kNow + 1s);
  EXPECT_THAT(early.begin, IsEmpty());
  const auto turn = room.next(kNow + 2s);
  EXPECT_THAT(turn.close, ElementsAre(Closed{1, Why::kSlow}));
  EXPECT_THAT(turn.begin, ElementsAre(2));
}

TEST(AnteroomTest, WhoeverSaysNothingMakesPlaceSoon) {
  Anteroom room({.each_max = 1, .silence = 250ms, .glance = 20ms});
  room.came(1, "a", kNow);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1));
  for (Anteroom::Guest i = 2; i <= 4; ++i) room.came(i, "a", kNow);
  EXPECT_THAT(room.next(kNow + 249ms).begin, IsEmpty());
  EXPECT_THAT(room.next(kNow + 250ms).begin, ElementsAre(2));
  // It was silent while it waited: only whether data is there by now remains to be seen.
  EXPECT_THAT(room.next(kNow + 269ms).begin, IsEmpty());
  const auto turn = room.next(kNow + 270ms);
  EXPECT_THAT(turn.close, ElementsAre(Closed{2, Why::kSlow}));
  EXPECT_THAT(turn.begin, ElementsAre(3));
  room.spoke(3);
  EXPECT_THAT(room.next(kNow + 2269ms).begin, IsEmpty()) << "it shakes hands";
  EXPECT_THAT(room.next(kNow + 2270ms).begin, ElementsAre(4));
}

TEST(AnteroomTest, ABusyHostWhoseTimeIsNotOverDoesNotProtectOthersWhoseTimeIs) {
  Anteroom room({.all_max = 3, .patience = 2s, .silence = 250ms});
  for (const auto& [guest, host] : {std::pair(1, "busy"), {2, "busy"}, {3, "silent"}})
    room.came(static_cast<Anteroom::Guest>(guest), host, kNow);
  EXPECT_THAT(room.next(kNow).begin, SizeIs(3));
  room.spoke(1);
  room.spoke(2);
  room.came(4, "new", kNow);
  EXPECT_THAT(room.next(kNow + 1s).close, ElementsAre(Closed{3, Why::kSlow}));
}

TEST(AnteroomTest, WhenAllPlacesAreTakenTheBusiestHostMakesOne) {
  Anteroom room({.each_max = 10, .all_max = 3, .patience = 2s});
  room.came(1, "quiet", kNow);
  room.came(2, "busy", kNow);
  room.came(3, "busy", kNow);
  EXPECT_THAT(room.next(kNow).begin, SizeIs(3));
  for (const Anteroom::Guest each : {1UL, 2UL, 3UL}) room.spoke(each);
  room.came(4, "new", kNow);
  EXPECT_THAT(room.next(kNow + 1s).begin, IsEmpty());
  const auto turn = room.next(kNow + 2s);
  EXPECT_THAT(turn.close, ElementsAre(Closed{2, Why::kSlow}));
  EXPECT_THAT(turn.begin, ElementsAre(4));
}

TEST(AnteroomTest, OfTooManyThatWaitOneOfWhoHasMostIsClosed) {
  Anteroom room({.each_max = 1, .all_max = 1, .waiting_max = 3});
  room.came(1, "a", kNow);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1));
  room.came(2, "a", kNow);
  room.came(3, "a", kNow);
  room.came(4, "b", kNow);
  room.came(5, "c", kNow);
  const auto turn = room.next(kNow);
  EXPECT_THAT(turn.close, ElementsAre(Closed{2, Why::kRoom}));
  EXPECT_THAT(turn.begin, IsEmpty());
  room.left(2);
  room.left(99);
  room.left(1);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(3));
}

// R47
TEST(AnteroomTest, TheWorkOfAnArrivalDoesNotGrowWithTheNumberOfHosts) {
  Anteroom room({.waiting_max = 20'000});
  MonoTime now = kNow;
  std::uint64_t most = 0;
  for (Anteroom::Guest i = 1; i <= 10'000; ++i) {
    const std::uint64_t before = room.work();
    room.came(i, "host " + std::to_string(i), now += 1us);
    // Each connection may make another one begin, and that one a third one give way.
    const auto turn = room.next(now);
    EXPECT_LE(turn.begin.size(), 32U);
    most = std::max(most, room.work() - before);
  }
  EXPECT_LE(most, 16U);
  for (Anteroom::Guest i = 1; i <= 10'000; ++i) room.left(i);
  EXPECT_FALSE(room.waiting());
  EXPECT_LE(room.work(), 60'000U);
}

// R47
TEST(AnteroomTest, ATurnBeginsAFewAndSaysThatThereAreMore) {
  Anteroom room({.begin_max = 32});
  for (Anteroom::Guest i = 1; i <= 70; ++i) room.came(i, "host " + std::to_string(i), kNow);
  auto turn = room.next(kNow);
  EXPECT_THAT(turn.begin, SizeIs(32));
  EXPECT_TRUE(turn.more);
  turn = room.next(kNow);
  EXPECT_THAT(turn.begin, SizeIs(32));
  EXPECT_TRUE(turn.more);
  turn = room.next(kNow);
  EXPECT_THAT(turn.begin, SizeIs(6));
  EXPECT_FALSE(turn.more);
}

// R47
TEST(AnteroomTest, SilentConnectionsOfThousandsOfHostsDelayAnotherForAMoment) {
  Anteroom room({});
  for (Anteroom::Guest i = 1; i <= 4'000; ++i) room.came(i, "host " + std::to_string(i), kNow);
  room.came(4'001, "client", kNow);
  for (MonoTime now = kNow; now < kNow + 600ms;) {
    const auto turn = room.next(now);
    if (std::ranges::count(turn.begin, 4'001U) == 1) return;
    now += turn.more ? Duration(100us) : Duration(1ms);
  }
  FAIL() << "it still waits";
}

}  // namespace anteroom_test
}  // namespace muster::rpc
