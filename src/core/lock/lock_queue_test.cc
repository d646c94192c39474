#include "core/lock/lock_queue.h"

#include <gmock/gmock.h>

namespace muster {
namespace lock_queue_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr MonoTime kStart{1000s};

class LockQueueTest : public ::testing::Test {
 protected:
  void join(std::initializer_list<const char*> sessions) {
    for (const char* session : sessions) ASSERT_TRUE(queue_.join(session));
  }
  LockQueue queue_{{.kept = 3s, .most = 4}};
};

TEST_F(LockQueueTest, ServesTheFirstThatCame) {
  EXPECT_EQ(queue_.head(), nullptr);
  join({"c", "a", "b"});
  EXPECT_EQ(*queue_.head(), "c");
  EXPECT_EQ(queue_.place("a"), 2U);
  EXPECT_EQ(queue_.place("nobody"), 0U);
  queue_.leave("c");
  EXPECT_EQ(*queue_.head(), "a");
  EXPECT_THAT(queue_.sessions(), ElementsAre("a", "b"));
}

TEST_F(LockQueueTest, ASessionThatAsksAgainKeepsItsPlace) {
  join({"a", "b"});
  queue_.absent("a", kStart);
  EXPECT_EQ(queue_.wake_at(), kStart + 3s);
  EXPECT_THAT(queue_.expire(kStart + 2999ms), IsEmpty());
  join({"a"});
  EXPECT_EQ(queue_.wake_at(), MonoTime::max());
  EXPECT_THAT(queue_.expire(kStart + 1h), IsEmpty());
  EXPECT_THAT(queue_.sessions(), ElementsAre("a", "b"));
}

TEST_F(LockQueueTest, AHeadThatDoesNotAskAgainLosesItsPlaceToTheNext) {
  join({"a", "b", "c"});
  queue_.absent("a", kStart);
  queue_.absent("c", kStart + 1s);
  EXPECT_THAT(queue_.expire(kStart + 3s), ElementsAre("a"));
  EXPECT_EQ(*queue_.head(), "b");
  EXPECT_EQ(queue_.wake_at(), kStart + 4s);
  join({"a"});
  EXPECT_EQ(queue_.place("a"), 3U) << "it comes last again";
}

TEST_F(LockQueueTest, HoldsNoMoreThanItMay) {
  join({"a", "b", "c", "d"});
  EXPECT_FALSE(queue_.join("e"));
  EXPECT_TRUE(queue_.join("d")) << "it is there already";
  queue_.leave("b");
  queue_.leave("b");
  EXPECT_TRUE(queue_.join("e"));
  EXPECT_THAT(queue_.sessions(), ElementsAre("a", "c", "d", "e"));
}

}  // namespace lock_queue_test
}  // namespace muster
