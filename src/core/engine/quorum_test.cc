#include "core/engine/quorum.h"

#include <gtest/gtest.h>

namespace muster::engine {
namespace quorum_test {

TEST(QuorumTest, SaysHowManyAreUpAndWhomToStart) {
  EXPECT_EQ(quorum_words({{"s1", true}, {"s2", false}, {"s3", false}}),
            "no quorum: 1 of 3 servers up; start s2 or s3");
  EXPECT_EQ(quorum_words({{"s1", true}, {"s2", false}}), "no quorum: 1 of 2 servers up; start s2");
  EXPECT_EQ(
      quorum_words({{"s1", true}, {"s2", false}, {"s3", false}, {"s4", false}, {"s5", false}}),
      "no quorum: 1 of 5 servers up; start 2 of s2, s3, s4, s5");
  EXPECT_EQ(quorum_words({{"s1", true}, {"s2", true}, {"s3", false}}),
            "2 of 3 servers up; the engine elects a leader");
}

}  // namespace quorum_test
}  // namespace muster::engine
