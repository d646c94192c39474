// The judge of the fault tests, judged: what it finds is wrong, and what is wrong it finds.
#include "tests/coordinator/beliefs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace beliefs_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Claim claim(const std::string& who, std::uint64_t epoch, Duration from, Duration to) {
  return {who, epoch, MonoTime(from), MonoTime(to)};
}

TEST(BeliefsTest, TermsThatFollowEachOtherAreInOrder) {
  EXPECT_THAT(contradictions({claim("a", 1, 0ms, 1ms), claim("a", 1, 9ms, 10ms),
                              claim("b", 2, 11ms, 12ms), claim("a", 4, 20ms, 21ms)}),
              IsEmpty());
}

TEST(BeliefsTest, TwoWhoBelieveAtOnceAreFound) {
  EXPECT_THAT(
      contradictions({claim("a", 1, 0ms, 1ms), claim("b", 2, 5ms, 6ms), claim("a", 1, 9ms, 10ms)}),
      ElementsAre(HasSubstr("epoch 1 (a) was in use 3 ms after epoch 2 (b)")));
}

TEST(BeliefsTest, AnOldBeliefIsFoundAlsoPastTheTermInBetween) {
  EXPECT_THAT(contradictions(
                  {claim("a", 1, 30ms, 31ms), claim("b", 2, 5ms, 6ms), claim("c", 3, 20ms, 21ms)}),
              ElementsAre(HasSubstr("after epoch 2 (b)"), HasSubstr("after epoch 3 (c)")));
}

TEST(BeliefsTest, OneEpochOfTwoProcessesIsFound) {
  EXPECT_THAT(contradictions({claim("a", 1, 0ms, 1ms), claim("b", 1, 5ms, 6ms)}),
              ElementsAre(HasSubstr("epoch 1 was used by 2 processes")));
}

TEST(BeliefsTest, AClaimThatWasFrozenProvesNothing) {
  EXPECT_THAT(contradictions({claim("a", 1, 0ms, 50ms), claim("b", 2, 20ms, 21ms)}), IsEmpty());
}

}  // namespace beliefs_test
}  // namespace muster
