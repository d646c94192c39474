#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"
#include "core/client/topology_view.h"

namespace muster::client {

struct NodeAdded {
  Node node;
};
struct NodeUpdated {
  Node node;
};
struct NodeRemoved {
  Node node;  ///< As it was.
};
struct FullSync {
  TopologyImage image;
};
struct Keepalive {};
struct Lagged {
  TopologyVersion current_version;
  std::uint64_t missed_updates = 0;
  std::string message;
};
struct RingChanged {
  RingConfig ring;
};
/// A kind that this version does not know.
struct Foreign {};

/// One message of a watch.
struct TopologyUpdate {
  TopologyVersion version;
  TopologyVersion previous_version;
  std::variant<Foreign, NodeAdded, NodeUpdated, NodeRemoved, FullSync, Keepalive, Lagged,
               RingChanged>
      what;
};

/// A copy of the servers' topology that follows their updates one by one. After each update
/// it equals their topology at version(), except for heartbeat times.
///
/// It may be of some services only. Then it has no other nodes, also if the server sends them, as
/// servers of 0.1 do, and its versions skip those of changes that are not its own.
///
/// An update that does not continue from the copy is refused and changes nothing, so no gap
/// goes unnoticed. Pure. Threads: one; any thread may use its views, for as long as it
/// likes.
class TopologyCache {
 public:
  explicit TopologyCache(ServiceFilter services = {})
      : view_(std::make_shared<const TopologyView>(TopologyImage{}, std::move(services))) {}

  /// The update as it concerns this copy: what becomes of a node that enters or leaves its
  /// services, and a keepalive in place of a change of others.
  [[nodiscard]] TopologyUpdate narrowed(TopologyUpdate update) const;
  /// Whether a keepalive says that nothing has changed up to a later version.
  [[nodiscard]] bool leads_on(const TopologyUpdate& update) const;

  /// kConflict: the update continues from another version. kUnsupported: this client does not know
  /// its kind. Both need a full sync.
  Status apply(const TopologyUpdate& update);

  [[nodiscard]] TopologyVersion version() const { return view_->version(); }
  [[nodiscard]] const std::shared_ptr<const TopologyView>& view() const { return view_; }

 private:
  std::shared_ptr<const TopologyView> view_;
};

}  // namespace muster::client
