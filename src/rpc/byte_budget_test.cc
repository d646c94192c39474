#include "rpc/byte_budget.h"

#include <gtest/gtest.h>

namespace muster::rpc {
namespace byte_budget_test {

TEST(ByteBudgetTest, AClientHasItsShareHoweverManyConnectionsItHas) {
  ByteBudget budget({.each_max = 100, .all_max = 1000});
  const auto one = budget.account("a");
  const auto again = budget.account("a");
  const auto other = budget.account("b");
  EXPECT_TRUE(one->take(60));
  EXPECT_FALSE(again->take(60));
  EXPECT_TRUE(other->take(60));
  EXPECT_EQ(budget.held(), 120u);
  one->give_back(60);
  EXPECT_TRUE(again->take(60));
}

TEST(ByteBudgetTest, AllHaveOneTogether) {
  ByteBudget budget({.each_max = 100, .all_max = 150});
  const auto one = budget.account("a");
  const auto other = budget.account("b");
  EXPECT_TRUE(one->take(100));
  EXPECT_FALSE(other->take(60));
  EXPECT_TRUE(other->take(50));
  EXPECT_EQ(budget.held(), 150u);
}

TEST(ByteBudgetTest, OneThingIsNeverTooLongForWhoHoldsNothing) {
  ByteBudget budget({.each_max = 100, .all_max = 1000});
  const auto one = budget.account("a");
  EXPECT_TRUE(one->take(500));
  EXPECT_FALSE(one->take(1));
}

TEST(ByteBudgetTest, WhoIsGoneIsForgotten) {
  ByteBudget budget({.each_max = 100, .all_max = 1000});
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(budget.account(std::to_string(i))->take(0));
  EXPECT_LE(budget.accounts(), 200u);
}

}  // namespace byte_budget_test
}  // namespace muster::rpc
