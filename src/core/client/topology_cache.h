#pragma once

#include <cstdint>
#include <memory>
#include <string>
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
/// A kind that only a newer server knows.
struct Foreign {};

/// One message of a watch.
struct TopologyUpdate {
  TopologyVersion version;
  TopologyVersion previous_version;
  std::variant<Foreign, NodeAdded, NodeUpdated, NodeRemoved, FullSync, Keepalive, Lagged,
               RingChanged>
      what;
};

/// A copy of the servers' topology that follows their updates one by one: after each it equals
/// their topology at version(), times of last heartbeats aside.
///
/// An update that does not continue where the copy stands is refused and changes nothing, so a gap
/// cannot go unnoticed. Pure; one thread. The views it hands out are for any thread, and for as
/// long as somebody holds them.
class TopologyCache {
 public:
  TopologyCache() : view_(std::make_shared<const TopologyView>()) {}

  /// kConflict: the update continues another version than ours. kUnsupported: it is of a kind
  /// that this client does not know. Only a full sync helps against either.
  Status apply(const TopologyUpdate& update);

  [[nodiscard]] TopologyVersion version() const { return view_->version(); }
  [[nodiscard]] const std::shared_ptr<const TopologyView>& view() const { return view_; }

 private:
  std::shared_ptr<const TopologyView> view_;
};

}  // namespace muster::client
