#include "rpc/anteroom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::rpc {
namespace anteroom_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const MonoTime kNow{};

TEST(AnteroomTest, WhoeverComesBeginsAtOnceWhileThereIsPlace) {
  Anteroom room({.each_max = 2, .all_max = 3});
  room.came(1, "a");
  room.came(2, "a");
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1, 2));
  room.came(3, "a");
  room.came(4, "b");
  room.came(5, "c");
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
  room.came(1, "a");
  room.came(1 + later, "a");
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1));
  room.left(1);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1 + later));
}

TEST(AnteroomTest, AHostThatFillsItsPlacesKeepsNobodyElseOut) {
  Anteroom room({.each_max = 2, .all_max = 100});
  for (Anteroom::Guest i = 0; i < 50; ++i) room.came(i, "flooder");
  room.came(50, "other");
  const auto turn = room.next(kNow);
  EXPECT_THAT(turn.begin, ::testing::UnorderedElementsAre(0, 1, 50));
  EXPECT_THAT(turn.close, IsEmpty());
}

TEST(AnteroomTest, WhoeverTakesLongMakesPlaceForOneThatWaits) {
  Anteroom room({.each_max = 1, .all_max = 2, .patience = 2s});
  room.came(1, "a");
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1));
  EXPECT_THAT(room.next(kNow + 1h).close, IsEmpty()) << "nobody waits";
  room.came(2, "a");
  const auto early = room.next(kNow + 1s);
  EXPECT_THAT(early.begin, IsEmpty());
  const auto turn = room.next(kNow + 2s);
  EXPECT_THAT(turn.close, ElementsAre(1));
  EXPECT_THAT(turn.begin, ElementsAre(2));
}

TEST(AnteroomTest, WhenAllPlacesAreTakenTheBusiestHostMakesOne) {
  Anteroom room({.each_max = 10, .all_max = 3, .patience = 2s});
  room.came(1, "quiet");
  room.came(2, "busy");
  room.came(3, "busy");
  EXPECT_THAT(room.next(kNow).begin, SizeIs(3));
  room.came(4, "new");
  EXPECT_THAT(room.next(kNow + 1s).begin, IsEmpty());
  const auto turn = room.next(kNow + 2s);
  EXPECT_THAT(turn.close, ElementsAre(2));
  EXPECT_THAT(turn.begin, ElementsAre(4));
}

TEST(AnteroomTest, OfTooManyThatWaitOneOfWhoHasMostIsClosed) {
  Anteroom room({.each_max = 1, .all_max = 1, .waiting_max = 3});
  room.came(1, "a");
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(1));
  room.came(2, "a");
  room.came(3, "a");
  room.came(4, "b");
  room.came(5, "c");
  const auto turn = room.next(kNow);
  EXPECT_THAT(turn.close, ElementsAre(2));
  EXPECT_THAT(turn.begin, IsEmpty());
  room.left(2);
  room.left(99);
  room.left(1);
  EXPECT_THAT(room.next(kNow).begin, ElementsAre(3));
}

}  // namespace anteroom_test
}  // namespace muster::rpc
