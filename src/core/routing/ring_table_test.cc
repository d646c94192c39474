#include "core/routing/ring_table.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/routing/hash_ring.h"

namespace muster {
namespace ring_table_test {

using Positions = std::vector<std::uint64_t>;

std::string name_of(RingTable::Seat seat) {
  return "node-" + std::to_string(seat);
}

bool by_name(RingTable::Seat a, RingTable::Seat b) {
  return name_of(a) < name_of(b);
}

Positions positions_of(RingTable::Seat seat, std::uint32_t count) {
  Positions positions;
  for (std::uint32_t i = 0; i < count; ++i) {
    positions.push_back(virtual_node_position(NodeId(name_of(seat)), i));
  }
  return positions;
}

/// The seats of the owners, as the table and as a ring built anew tell them.
void expect_same(const RingTable& table, const std::map<RingTable::Seat, std::uint32_t>& weights,
                 std::uint32_t replication, std::uint64_t position) {
  std::vector<RingMember> members;
  for (const auto& [seat, weight] : weights) members.push_back({NodeId(name_of(seat)), weight});
  const HashRing ring(members, {16, replication});
  std::vector<std::string> expected;
  for (const std::uint32_t member : ring.at(position).members) {
    expected.push_back(ring.members()[member].id.value());
  }
  std::vector<RingTable::Seat> out(replication);
  out.resize(table.owners(position, out));
  std::vector<std::string> actual;
  for (const RingTable::Seat seat : out) actual.push_back(name_of(seat));
  EXPECT_EQ(actual, expected) << "at " << position;
}

TEST(RingTableTest, AgreesWithARingBuiltAnewAfterAnyChanges) {
  Random random(11);
  RingTable table;
  std::map<RingTable::Seat, std::uint32_t> weights;
  for (int round = 0; round < 400; ++round) {
    const auto seat = static_cast<RingTable::Seat>(random.below(40));
    if (const auto found = weights.find(seat); found != weights.end()) {
      table.remove(seat, positions_of(seat, found->second * 16));
      weights.erase(found);
    } else {
      const auto weight = static_cast<std::uint32_t>(1 + random.below(3));
      table.insert(seat, positions_of(seat, weight * 16), by_name);
      weights.emplace(seat, weight);
    }
    ASSERT_EQ(table.members(), weights.size());
    if (weights.empty()) continue;
    const auto replication = static_cast<std::uint32_t>(1 + random.below(5));
    for (int i = 0; i < 3; ++i) expect_same(table, weights, replication, random.next());
    expect_same(table, weights, replication, UINT64_MAX);
    expect_same(table, weights, replication, 0);
  }
}

TEST(RingTableTest, GrowsAndShrinksByThousands) {
  constexpr RingTable::Seat kSeats = 3000;
  RingTable table;
  for (RingTable::Seat seat = 0; seat < kSeats; ++seat) {
    table.insert(seat, positions_of(seat, 16), by_name);
  }
  std::map<RingTable::Seat, std::uint32_t> weights;
  for (RingTable::Seat seat = 0; seat < kSeats; ++seat) weights.emplace(seat, 1);
  Random random(3);
  for (int i = 0; i < 5; ++i) expect_same(table, weights, 3, random.next());
  for (RingTable::Seat seat = 2; seat < kSeats; ++seat) {
    table.remove(seat, positions_of(seat, 16));
  }
  EXPECT_EQ(table.points(), 32U);
  expect_same(table, {{0, 1}, {1, 1}}, 3, random.next());
}

TEST(RingTableTest, ACopyIsNotReachedByLaterChanges) {
  RingTable table;
  table.insert(1, positions_of(1, 16), by_name);
  const RingTable copy = table;
  table.insert(2, positions_of(2, 16), by_name);
  table.remove(1, positions_of(1, 16));
  std::vector<RingTable::Seat> out(2);
  ASSERT_EQ(copy.owners(7, out), 1U);
  EXPECT_EQ(out[0], 1U);
}

TEST(RingTableTest, EqualPositionsAreOrderedByName) {
  RingTable table;
  const Positions same{5};
  table.insert(2, same, by_name);
  table.insert(1, same, by_name);
  std::vector<RingTable::Seat> out(2);
  ASSERT_EQ(table.owners(5, out), 2U);
  EXPECT_EQ(out, (std::vector<RingTable::Seat>{1, 2}));
  table.remove(1, same);
  ASSERT_EQ(table.owners(6, out), 1U);
  EXPECT_EQ(out[0], 2U);
}

TEST(RingTableTest, AnEmptyTableHasNoOwners) {
  std::vector<RingTable::Seat> out(3);
  EXPECT_EQ(RingTable().owners(1, out), 0U);
}

}  // namespace ring_table_test
}  // namespace muster
