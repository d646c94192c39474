#include "rpc/connection_budget.h"

#include <gtest/gtest.h>

namespace muster::rpc {
namespace connection_budget_test {

using Verdict = ConnectionBudget::Verdict;

std::size_t fill(ConnectionBudget& budget, const std::string& client, bool reserved = false) {
  std::size_t count = 0;
  while (budget.take(client, reserved) == Verdict::kTaken) ++count;
  return count;
}

// R48
TEST(ConnectionBudgetTest, AClientHasItsShareAndNoMore) {
  ConnectionBudget budget({.each_max = 3, .all_max = 100});
  EXPECT_EQ(fill(budget, "a"), 3u);
  EXPECT_EQ(budget.take("a", false), Verdict::kClientFull);
  EXPECT_EQ(budget.take("b", false), Verdict::kTaken);
  budget.give_back("a", false);
  EXPECT_EQ(budget.take("a", false), Verdict::kTaken);
  EXPECT_EQ(budget.held("a"), 3u);
}

// R48
TEST(ConnectionBudgetTest, TheLastQuarterIsForClientsWithFewConnections) {
  ConnectionBudget budget({.each_max = 50, .all_max = 100, .few = 2});
  EXPECT_EQ(fill(budget, "a"), 50u);
  EXPECT_EQ(fill(budget, "b"), 25u);
  EXPECT_EQ(budget.take("b", false), Verdict::kFull);
  EXPECT_EQ(fill(budget, "c"), 2u);
  for (int i = 0; i < 23; ++i)
    EXPECT_EQ(budget.take("node " + std::to_string(i), false), Verdict::kTaken);
  EXPECT_EQ(budget.take("one more", false), Verdict::kFull);
}

// R48
TEST(ConnectionBudgetTest, ServersAndOperatorsFindAPlaceWhenClientsHaveTakenAll) {
  ConnectionBudget budget({.each_max = 1, .all_max = 2, .reserved_each_max = 2, .reserved_max = 3});
  EXPECT_EQ(budget.take("a", false), Verdict::kTaken);
  EXPECT_EQ(budget.take("b", false), Verdict::kTaken);
  EXPECT_EQ(budget.take("c", false), Verdict::kFull);
  EXPECT_EQ(fill(budget, "server s2", true), 2u);
  EXPECT_EQ(budget.take("server s2", true), Verdict::kClientFull);
  EXPECT_EQ(fill(budget, "admin op", true), 1u);
  EXPECT_EQ(budget.take("admin op", true), Verdict::kFull);
  budget.give_back("server s2", true);
  EXPECT_EQ(budget.take("admin op", true), Verdict::kTaken);
}

// Otherwise a server would keep a name for each client that ever came.
TEST(ConnectionBudgetTest, WhoHasNoConnectionIsForgotten) {
  ConnectionBudget budget({});
  EXPECT_EQ(budget.take("a", false), Verdict::kTaken);
  budget.give_back("a", false);
  EXPECT_EQ(budget.held("a"), 0u);
}

}  // namespace connection_budget_test
}  // namespace muster::rpc
