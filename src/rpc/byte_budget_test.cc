#include "rpc/byte_budget.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(ByteBudgetTest, OneThingIsNeverTooLongForWhoHoldsNextToNothing) {
  ByteBudget budget({.each_max = 12'800, .all_max = 100'000});
  const auto one = budget.account("a");
  EXPECT_TRUE(one->take(100));  // The call itself.
  EXPECT_TRUE(one->take(50'000));
  EXPECT_FALSE(one->take(1));
  EXPECT_TRUE(one->owe(1'600)) << "what its end takes does not cut it off";
  EXPECT_FALSE(one->owe(1));
  one->give_back(50'001);
  EXPECT_TRUE(one->take(1));
  EXPECT_FALSE(one->owe(12'800 + 1'600)) << "the long thing is gone, and what it allowed with it";
  const auto other = budget.account("b");
  EXPECT_TRUE(other->take(101));
  EXPECT_FALSE(other->take(12'700));
}

TEST(ByteBudgetTest, TheLastQuarterIsForClientsThatHoldLittle) {
  ByteBudget budget({.each_max = 100, .all_max = 400, .little = 10});
  std::vector<ByteBudget::AccountPtr> greedy;
  for (int i = 0; i < 3; ++i) {
    greedy.push_back(budget.account(std::to_string(i)));
    EXPECT_TRUE(greedy.back()->take(100));
  }
  const auto other = budget.account("other");
  EXPECT_FALSE(other->take(11));
  EXPECT_TRUE(other->take(10));
  EXPECT_FALSE(other->take(1));
}

TEST(ByteBudgetTest, ServersHaveTheirSharesBesideThoseOfClients) {
  ByteBudget budget({.each_max = 100, .all_max = 100, .little = 100});
  const auto client = budget.account("a");
  const auto server = budget.account("s1", ByteBudget::Whose::kServer);
  EXPECT_TRUE(client->take(100));
  EXPECT_FALSE(budget.account("b")->take(1));
  EXPECT_TRUE(server->take(100));
  EXPECT_FALSE(server->take(1));
}

TEST(ByteBudgetTest, WhatIsOwedIsCountedUntilItIsFarTooMuch) {
  ByteBudget budget({.each_max = 800, .all_max = 1600, .little = 8});
  const auto one = budget.account("a");
  const auto other = budget.account("b");
  const auto third = budget.account("c");
  EXPECT_TRUE(one->take(800));
  EXPECT_TRUE(one->owe(100));
  EXPECT_FALSE(one->owe(1));
  EXPECT_EQ(budget.held(), 901u);
  EXPECT_TRUE(other->owe(890));
  EXPECT_TRUE(third->owe(8));
  EXPECT_FALSE(third->owe(2)) << "all together hold an eighth more than they may";
}

TEST(ByteBudgetTest, WhoIsGoneIsForgotten) {
  ByteBudget budget({.each_max = 100, .all_max = 1000});
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(budget.account(std::to_string(i))->take(0));
  EXPECT_LE(budget.accounts(), 200u);
}

}  // namespace byte_budget_test
}  // namespace muster::rpc
