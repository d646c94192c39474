#include "core/limits/client_table.h"

#include <string>

#include <gtest/gtest.h>

namespace muster {
namespace client_table_test {

const auto kZero = [] { return 0; };
const auto kIdle = [](int value) { return value == 0; };

TEST(ClientTableTest, KeepsOneValuePerClient) {
  ClientTable<int> table(4);
  *table.find_or_add("a", kZero, kIdle) = 1;
  *table.find_or_add("b", kZero, kIdle) = 2;
  EXPECT_EQ(*table.find_or_add("a", kZero, kIdle), 1);
  EXPECT_EQ(*table.find("b"), 2);
  EXPECT_EQ(table.find("c"), nullptr);
  EXPECT_EQ(table.size(), 2u);
}

TEST(ClientTableTest, EvictsTheLeastRecentlyUsed) {
  ClientTable<int> table(2);
  ASSERT_TRUE(table.find_or_add("a", kZero, kIdle));
  ASSERT_TRUE(table.find_or_add("b", kZero, kIdle));
  ASSERT_TRUE(table.find("a"));
  ASSERT_TRUE(table.find_or_add("c", kZero, kIdle));
  EXPECT_NE(table.find("a"), nullptr);
  EXPECT_EQ(table.find("b"), nullptr);
  EXPECT_NE(table.find("c"), nullptr);
  EXPECT_EQ(table.size(), 2u);
}

TEST(ClientTableTest, DoesNotEvictWhatMustBeRemembered) {
  ClientTable<int> table(2);
  *table.find_or_add("a", kZero, kIdle) = 1;
  *table.find_or_add("b", kZero, kIdle) = 1;
  EXPECT_EQ(table.find_or_add("c", kZero, kIdle), nullptr);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(*table.find("a"), 1);
  *table.find("b") = 0;
  // "a" is the least recently used, and still busy.
  EXPECT_EQ(table.find_or_add("c", kZero, kIdle), nullptr);
  *table.find("a") = 0;
  EXPECT_NE(table.find_or_add("c", kZero, kIdle), nullptr);
}

TEST(ClientTableTest, ErasedClientLeavesItsPlace) {
  ClientTable<int> table(1);
  *table.find_or_add("a", kZero, kIdle) = 1;
  table.erase("a");
  table.erase("never there");
  EXPECT_EQ(table.size(), 0u);
  EXPECT_NE(table.find_or_add("b", kZero, kIdle), nullptr);
}

// T24: a million distinct clients take no more room than the capacity.
TEST(ClientTableTest, MillionClientsStayWithinTheCapacity) {
  ClientTable<int> table(1000);
  for (int n = 0; n < 1'000'000; ++n) {
    ASSERT_TRUE(table.find_or_add("client-" + std::to_string(n), kZero, kIdle));
    ASSERT_LE(table.size(), table.capacity());
  }
  EXPECT_EQ(table.size(), 1000u);
  EXPECT_NE(table.find("client-999999"), nullptr);
  EXPECT_NE(table.find("client-999000"), nullptr);
  EXPECT_EQ(table.find("client-998999"), nullptr);
}

}  // namespace client_table_test
}  // namespace muster
