#include "server/web/ring_picture.h"

#include <algorithm>
#include <cmath>

#include "core/membership/lifecycle.h"

namespace muster::server {
namespace {

double fraction(std::uint64_t positions) {
  return std::ldexp(static_cast<double>(positions), -64);
}

std::string owner(const HashRing& ring, std::uint64_t position) {
  const Placement placement = ring.at(position);
  return placement.members.empty() ? std::string()
                                   : ring.members()[placement.members.front()].id.value();
}

}  // namespace

void RingPainter::enter(const NodeRow& node, std::uint32_t places, RingPicture& picture) {
  const auto index = static_cast<std::uint32_t>(picture.members.size());
  picture.members.push_back({node.id, 0, node.state == membership::NodeState::kSuspect});
  Places& at = known_[node.id];
  at.used = paintings_;
  const std::size_t wanted = HashRing::virtual_nodes_of(node.weight, {places, 1});
  for (std::size_t i = at.positions.size(); i < wanted; ++i) {
    at.positions.push_back(virtual_node_position(NodeId(node.id), static_cast<std::uint32_t>(i)));
  }
  for (std::size_t i = 0; i < wanted; ++i) picture.points.emplace_back(at.positions[i], index);
}

void RingPainter::share_out(RingPicture& picture) {
  std::sort(picture.points.begin(), picture.points.end());
  for (std::size_t i = 0; i < picture.points.size(); ++i) {
    const auto& [position, member] = picture.points[i];
    const auto& before = picture.points[i == 0 ? picture.points.size() - 1 : i - 1];
    // The node at a position owns the keys up to it; a single one owns all.
    const double share = picture.points.size() == 1 ? 1.0 : fraction(position - before.first);
    picture.members[member].share += share;
  }
}

RingPictures RingPainter::paint(const std::vector<NodeRow>& nodes, std::uint32_t places) {
  ++paintings_;
  RingPictures pictures;
  pictures.rings[""];
  for (const NodeRow& node : nodes) {
    if (membership::in_ring(node.state)) enter(node, places, pictures.rings[node.service]);
  }
  std::erase_if(known_, [this](const auto& each) { return each.second.used != paintings_; });
  for (auto& [service, picture] : pictures.rings) {
    share_out(picture);
    pictures.points += picture.points.size();
    for (const RingPicture::Member& member : picture.members) {
      pictures.shares.emplace(member.id, member.share);
    }
  }
  return pictures;
}

RingPicture RingPainter::paint_service(const std::vector<NodeRow>& nodes, std::uint32_t places,
                                       const std::string& service) {
  RingPicture picture;
  for (const NodeRow& node : nodes) {
    if (membership::in_ring(node.state) && service_of(node) == service) {
      enter(node, places, picture);
    }
  }
  share_out(picture);
  return picture;
}

RingPlan plan(const HashRing& before, const HashRing& after) {
  std::vector<std::uint64_t> cuts(before.positions().begin(), before.positions().end());
  cuts.insert(cuts.end(), after.positions().begin(), after.positions().end());
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::map<std::pair<std::string, std::string>, double> moved;
  RingPlan plan;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const std::string from = owner(before, cuts[i]);
    const std::string to = owner(after, cuts[i]);
    if (from == to) continue;
    const std::uint64_t last = cuts[i == 0 ? cuts.size() - 1 : i - 1];
    const double share = cuts.size() == 1 ? 1.0 : fraction(cuts[i] - last);
    moved[{from, to}] += share;
    plan.moved += share;
  }
  for (const auto& [pair, share] : moved) plan.moves.push_back({pair.first, pair.second, share});
  std::stable_sort(plan.moves.begin(), plan.moves.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return plan;
}

}  // namespace muster::server
