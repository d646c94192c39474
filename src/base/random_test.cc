#include "base/random.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace muster {
namespace random_test {

TEST(RandomTest, OneSeedGivesOneSequence) {
  Random a(7), b(7), c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(RandomTest, UuidsAreVersion4AndDiffer) {
  Random random(1);
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = random.uuid();
    EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

TEST(RandomTest, BetweenStaysWithinItsBounds) {
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const Duration d = random.between(5ms, 7ms);
    EXPECT_GE(d, 5ms);
    EXPECT_LE(d, 7ms);
  }
  EXPECT_EQ(random.between(5ms, 5ms), 5ms);
  EXPECT_EQ(random.between(5ms, 1ms), 5ms);
}

}  // namespace random_test
}  // namespace muster
