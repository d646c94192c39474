#include "core/client/topology_cache.h"

#include <utility>

namespace muster::client {

Status TopologyCache::apply(const TopologyUpdate& update) {
  if (const auto* sync = std::get_if<FullSync>(&update.what)) {
    view_ = std::make_shared<const TopologyView>(sync->image);
    return Done{};
  }
  // Neither of these changes a topology.
  if (std::holds_alternative<Keepalive>(update.what)) return Done{};
  if (std::holds_alternative<Lagged>(update.what)) return Done{};
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
  } else {
    return {Errc::kUnsupported, "an update is of a kind that this client does not know"};
  }
  next->version_ = update.version;
  view_ = std::move(next);
  return Done{};
}

}  // namespace muster::client
