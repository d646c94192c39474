#include "core/client/topology_cache.h"

#include <utility>

namespace muster::client {

TopologyUpdate TopologyCache::narrowed(TopologyUpdate update) const {
  const ServiceFilter& services = view_->services();
  if (!services.one()) return update;
  const auto enters = [&](const Node& node) { return services.contains(node.type, node.service); };
  const auto change = [&](const Node& node) -> decltype(update.what) {
    const Node* known = view_->find(node.id.value());
    if (enters(node)) {
      if (known != nullptr) return NodeUpdated{node};
      return NodeAdded{node};
    }
    if (known != nullptr) return NodeRemoved{*known};
    return Keepalive{};
  };
  if (const auto* added = std::get_if<NodeAdded>(&update.what)) {
    if (!enters(added->node)) update.what = change(Node(added->node));
  } else if (const auto* updated = std::get_if<NodeUpdated>(&update.what)) {
    update.what = change(Node(updated->node));
  } else if (const auto* removed = std::get_if<NodeRemoved>(&update.what)) {
    if (view_->find(removed->node.id.value()) == nullptr) update.what = Keepalive{};
  }
  return update;
}

bool TopologyCache::leads_on(const TopologyUpdate& update) const {
  return view_->services().one() && update.version > version();
}

Status TopologyCache::apply(const TopologyUpdate& given) {
  if (const auto* sync = std::get_if<FullSync>(&given.what)) {
    view_ = std::make_shared<const TopologyView>(sync->image, view_->services());
    return Done{};
  }
  if (std::holds_alternative<Lagged>(given.what)) return Done{};
  const TopologyUpdate update = narrowed(given);
  // It changes no node, but it may say that nothing has changed up to a later version.
  if (std::holds_alternative<Keepalive>(update.what) && !leads_on(update)) return Done{};
  if (update.previous_version != version()) {
    return {Errc::kConflict, "an update continues version " +
                                 std::to_string(update.previous_version.value()) +
                                 " and the copy is at " + std::to_string(version().value())};
  }
  auto next = std::make_shared<TopologyView>(*view_);
  if (const auto* added = std::get_if<NodeAdded>(&update.what)) {
    next->put(added->node);
  } else if (const auto* updated = std::get_if<NodeUpdated>(&update.what)) {
    next->put(updated->node);
  } else if (const auto* removed = std::get_if<NodeRemoved>(&update.what)) {
    next->erase(removed->node.id.value());
  } else if (const auto* ring = std::get_if<RingChanged>(&update.what)) {
    next->set_ring(ring->ring);
  } else if (!std::holds_alternative<Keepalive>(update.what)) {
    return {Errc::kUnsupported, "an update is of a kind that this client does not know"};
  }
  next->version_ = update.version;
  view_ = std::move(next);
  return Done{};
}

}  // namespace muster::client
