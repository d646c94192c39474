#include "core/routing/movement_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace muster {
namespace {

/// Walks one ring's virtual nodes by rising position, translating its members to those of the
/// plan.
class Walk {
 public:
  Walk(const HashRing& ring, const std::vector<NodeMovement>& nodes) : ring_(ring) {
    std::size_t node = 0;
    for (const RingMember& member : ring.members()) {
      while (nodes[node].id != member.id) ++node;
      to_node_.push_back(node);
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> position() const {
    if (at_ == ring_.positions().size()) return std::nullopt;
    return ring_.positions()[at_];
  }

  /// Who holds the keys up to position(); past the last virtual node that is the first one's.
  void holders(std::vector<std::size_t>& out) const {
    out.clear();
    const std::size_t n = ring_.positions().size();
    if (n == 0) return;
    for (const std::uint32_t member : ring_.placement(at_ % n).members) {
      out.push_back(to_node_[member]);
    }
  }

  void pass(std::uint64_t position) {
    while (this->position() == position) ++at_;
  }

 private:
  const HashRing& ring_;
  std::vector<std::size_t> to_node_;
  std::size_t at_ = 0;
};

/// Both rings' members once each, sorted by id.
std::vector<NodeMovement> all_members(const HashRing& before, const HashRing& after) {
  std::vector<NodeMovement> nodes;
  for (const RingMember& member : before.members()) nodes.push_back({.id = member.id});
  for (const RingMember& member : after.members()) nodes.push_back({.id = member.id});
  const auto by_id = [](const NodeMovement& a, const NodeMovement& b) { return a.id < b.id; };
  const auto same = [](const NodeMovement& a, const NodeMovement& b) { return a.id == b.id; };
  std::sort(nodes.begin(), nodes.end(), by_id);
  nodes.erase(std::unique(nodes.begin(), nodes.end(), same), nodes.end());
  return nodes;
}

bool contains(const std::vector<std::size_t>& nodes, std::size_t node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

/// Adds to the plan what moves when `share` goes from the holders `from` to `to`.
void move(MovementPlan& plan, KeyShare share, const std::vector<std::size_t>& from,
          const std::vector<std::size_t>& to) {
  const bool same_primary = from.empty() ? to.empty() : !to.empty() && from[0] == to[0];
  if (!same_primary) {
    plan.primary_moved += share;
    if (!from.empty()) plan.nodes[from[0]].primary_lost += share;
    if (!to.empty()) plan.nodes[to[0]].primary_gained += share;
  }
  for (const std::size_t node : from) {
    if (!contains(to, node)) plan.nodes[node].copies_lost += share;
  }
  for (const std::size_t node : to) {
    if (contains(from, node)) continue;
    plan.nodes[node].copies_gained += share;
    plan.copies_moved += share;
  }
}

/// The positions after `from` up to and including `to`; all of them when the two are one.
KeyShare arc(std::uint64_t from, std::uint64_t to) {
  return from == to ? kWholeKeySpace : KeyShare{to - from};
}

}  // namespace

double to_fraction(KeyShare share) {
  return std::ldexp(static_cast<double>(share), -64);
}

std::vector<KeyShare> primary_shares(const HashRing& ring) {
  std::vector<KeyShare> shares(ring.members().size(), 0);
  const auto positions = ring.positions();
  if (positions.empty()) return shares;
  std::uint64_t previous = positions.back();
  // When all positions are equal, the first virtual node owns everything.
  if (positions.front() == positions.back()) {
    shares[ring.placement(0).members[0]] = kWholeKeySpace;
    return shares;
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    shares[ring.placement(i).members[0]] += positions[i] - previous;
    previous = positions[i];
  }
  return shares;
}

MovementPlan movement_plan(const HashRing& before, const HashRing& after) {
  MovementPlan plan;
  plan.nodes = all_members(before, after);
  Walk from(before, plan.nodes);
  Walk to(after, plan.nodes);
  // Between two neighbouring virtual nodes of either ring nothing changes hands, so it is enough
  // to look at each such arc once. The first arc begins at the very last virtual node.
  std::optional<std::uint64_t> previous;
  for (const HashRing* ring : {&before, &after}) {
    if (ring->positions().empty()) continue;
    const std::uint64_t last = ring->positions().back();
    previous = previous ? std::max(*previous, last) : last;
  }
  std::vector<std::size_t> holders_before;
  std::vector<std::size_t> holders_after;
  while (from.position() || to.position()) {
    const std::uint64_t end = std::min(from.position().value_or(UINT64_MAX),  //
                                       to.position().value_or(UINT64_MAX));
    from.holders(holders_before);
    to.holders(holders_after);
    move(plan, arc(*previous, end), holders_before, holders_after);
    from.pass(end);
    to.pass(end);
    previous = end;
  }
  return plan;
}

}  // namespace muster
