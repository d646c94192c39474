#include "core/client/topology_view.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/membership/lifecycle.h"

namespace muster::client {
namespace {

constexpr std::size_t kBlockMax = 128;

bool placed(const Node& node) {
  return membership::in_ring(node.state) && node.weight > 0;
}

/// Numbers from outside, made such that the ring can be built of them.
RingConfig usable(RingConfig ring) {
  ring.virtual_nodes = std::clamp<std::uint32_t>(ring.virtual_nodes, 1, 4096);
  ring.replication = std::max<std::uint32_t>(ring.replication, 1);
  return ring;
}

}  // namespace

TopologyView::TopologyView(const TopologyImage& image, ServiceFilter services)
    : services_(std::move(services)), version_(image.version), ring_(usable(image.ring)) {
  std::vector<std::shared_ptr<const Node>> nodes;
  nodes.reserve(image.nodes.size());
  for (const Node& node : image.nodes) {
    // Servers that know no services send everything.
    if (services_.contains(node.type, node.service)) nodes.push_back(std::make_shared<Node>(node));
  }
  std::sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
  nodes.erase(std::unique(nodes.begin(), nodes.end(),
                          [](const auto& a, const auto& b) { return a->id == b->id; }),
              nodes.end());
  size_ = nodes.size();
  for (Seat first = 0; first < size_; first += kBlockMax / 2) {
    auto block = std::make_shared<Block>();
    for (Seat seat = first; seat < size_ && seat < first + kBlockMax / 2; ++seat) {
      block->push_back(seat);
    }
    order_.push_back(std::move(block));
  }
  seats_ = ChunkedVector<std::shared_ptr<const Node>>(std::move(nodes));
  build_rings();
}

bool TopologyView::on_main_ring(const Node& node) const {
  return services_.one() || node.service.empty();
}

RingTable::Before TopologyView::by_id() const {
  return [this](Seat a, Seat b) { return seats_[a]->id < seats_[b]->id; };
}

std::vector<std::uint64_t> TopologyView::positions(const Node& node) const {
  const std::uint32_t count = HashRing::virtual_nodes_of(node.weight, ring_);
  std::vector<std::uint64_t> positions;
  positions.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    positions.push_back(virtual_node_position(node.id, i));
  }
  return positions;
}

void TopologyView::build_rings() {
  std::vector<RingTable::Point> main;
  std::map<std::string, std::vector<RingTable::Point>> others;
  for (Seat seat = 0; seat < seats_.size(); ++seat) {
    if (seats_[seat] == nullptr || !placed(*seats_[seat])) continue;
    const Node& node = *seats_[seat];
    std::vector<RingTable::Point>& points = on_main_ring(node) ? main : others[node.service];
    for (const std::uint64_t position : positions(node)) points.push_back({position, seat});
  }
  table_ = RingTable(std::move(main), by_id());
  rings_.clear();
  for (auto& [service, points] : others) {
    rings_.emplace(service, std::make_shared<const RingTable>(std::move(points), by_id()));
  }
}

void TopologyView::enter_ring(Seat seat) {
  const Node& node = *seats_[seat];
  if (!placed(node)) return;
  if (on_main_ring(node)) return table_.insert(seat, positions(node), by_id());
  std::shared_ptr<const RingTable>& ring = rings_[node.service];
  auto next = ring ? std::make_shared<RingTable>(*ring) : std::make_shared<RingTable>();
  next->insert(seat, positions(node), by_id());
  ring = std::move(next);
}

void TopologyView::leave_ring(Seat seat) {
  const Node& node = *seats_[seat];
  if (!placed(node)) return;
  if (on_main_ring(node)) return table_.remove(seat, positions(node));
  const auto ring = rings_.find(node.service);
  auto next = std::make_shared<RingTable>(*ring->second);
  next->remove(seat, positions(node));
  if (next->members() == 0) {
    rings_.erase(ring);
  } else {
    ring->second = std::move(next);
  }
}

TopologyView::Place TopologyView::locate(std::string_view id) const {
  const auto before = [this](Seat seat, std::string_view wanted) {
    return seats_[seat]->id.value() < wanted;
  };
  // The first block whose last node is not before it; the last one when there is none.
  const auto at = std::lower_bound(
      order_.begin(), order_.end(), id,
      [&](const auto& block, std::string_view wanted) { return before(block->back(), wanted); });
  if (at == order_.end()) {
    if (order_.empty()) return {};
    return {order_.size() - 1, order_.back()->size(), false};
  }
  const Block& block = **at;
  const auto found = std::lower_bound(block.begin(), block.end(), id, before);
  return {static_cast<std::size_t>(at - order_.begin()),
          static_cast<std::size_t>(found - block.begin()), seats_[*found]->id.value() == id};
}

const Node* TopologyView::find(std::string_view id) const {
  const Place place = locate(id);
  return place.found ? seats_[(*order_[place.block])[place.offset]].get() : nullptr;
}

void TopologyView::put(const Node& node) {
  const Place place = locate(node.id.value());
  if (place.found) {
    const Seat seat = (*order_[place.block])[place.offset];
    const Node& old = *seats_[seat];
    const bool moves =
        placed(old) != placed(node) || old.weight != node.weight || old.service != node.service;
    if (moves) leave_ring(seat);
    seats_.set(seat, std::make_shared<Node>(node));
    if (moves) enter_ring(seat);
    return;
  }
  Seat seat = static_cast<Seat>(seats_.size());
  if (free_.empty()) {
    seats_.push_back(std::make_shared<Node>(node));
  } else {
    seat = free_.back();
    free_.pop_back();
    seats_.set(seat, std::make_shared<Node>(node));
  }
  ++size_;
  if (order_.empty()) {
    order_.push_back(std::make_shared<Block>(1, seat));
  } else {
    auto block = std::make_shared<Block>(*order_[place.block]);
    block->insert(block->begin() + static_cast<std::ptrdiff_t>(place.offset), seat);
    if (block->size() > kBlockMax) {
      const auto middle = block->begin() + kBlockMax / 2;
      order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place.block) + 1,
                    std::make_shared<Block>(middle, block->end()));
      block->erase(middle, block->end());
    }
    order_[place.block] = std::move(block);
  }
  enter_ring(seat);
}

void TopologyView::erase(std::string_view id) {
  const Place place = locate(id);
  if (!place.found) return;
  auto block = std::make_shared<Block>(*order_[place.block]);
  const Seat seat = (*block)[place.offset];
  leave_ring(seat);
  block->erase(block->begin() + static_cast<std::ptrdiff_t>(place.offset));
  if (block->empty()) {
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(place.block));
  } else {
    order_[place.block] = std::move(block);
  }
  seats_.set(seat, nullptr);
  free_.push_back(seat);
  --size_;
}

void TopologyView::set_ring(const RingConfig& ring) {
  const RingConfig next = usable(ring);
  const bool moves = next.virtual_nodes != ring_.virtual_nodes;
  ring_ = next;
  if (moves) build_rings();
}

template <typename Find>
Owners TopologyView::owners_by(const Find& find) const {
  Owners owners;
  Seat seats[Owners::kMax];
  const std::size_t wanted = std::min<std::size_t>(ring_.replication, Owners::kMax);
  owners.size_ = find(std::span(seats, wanted));
  for (std::size_t i = 0; i < owners.size_; ++i) owners.nodes_[i] = seats_[seats[i]].get();
  owners.degraded_ = owners.size_ < ring_.replication;
  return owners;
}

Owners TopologyView::owners_at(std::uint64_t position) const {
  return owners_by([&](std::span<Seat> out) { return table_.owners(position, out); });
}

Owners TopologyView::owners(std::string_view key, std::string_view service) const {
  const std::uint64_t position = key_position(key);
  if (service.empty()) return owners_at(position);
  const auto ring = rings_.find(service);
  return owners_by([&](std::span<Seat> out) -> std::size_t {
    if (ring != rings_.end()) return ring->second->owners(position, out);
    return table_.owners(position, out,
                         [&](Seat seat) { return service_of(*seats_[seat]) == service; });
  });
}

}  // namespace muster::client
