#include <google/protobuf/descriptor.h>

#include <utility>

#include "muster/v1/coordinator.pb.h"
#include "server/gateway/feed.h"
#include "server/gateway/node_json.h"

namespace muster::server {
namespace {

constexpr const char* kWatchTopology = "/muster.v1.CoordinatorService/WatchTopology";

/// The topology as WatchTopology tells it. Events have the names of the fields of TopologyUpdate.
class NodeFeed final : public Feed {
 public:
  NodeFeed(Parts parts, std::string service)
      : Feed(std::move(parts)), service_(std::move(service)) {}

 protected:
  CallOrder watch() override {
    v1::WatchTopologyRequest request;
    request.set_since_version(position().version);
    request.set_history(position().history);
    request.set_service(service_);
    return parts().order(kWatchTopology, request);
  }

  void handle(const rpc::Payload& message) override {
    v1::TopologyUpdate update;
    if (!update.ParseFromString(*message)) {
      return end({rpc::Code::kInternal, "an update of the topology cannot be decoded", {}});
    }
    position().version = update.version();
    if (update.has_full_sync()) position().history = update.full_sync().history();
    if (update.has_keepalive()) return send(keepalive());
    const auto* field = update.GetReflection()->GetOneofFieldDescriptor(
        update, update.GetDescriptor()->FindOneofByName("update"));
    // An update that only a newer server knows still has a version.
    if (field == nullptr) return send(keepalive());
    send(event(field->name(), data(update)));
  }

 private:
  static Json data(const v1::TopologyUpdate& update) {
    Json json{{"version", update.version()}, {"previous_version", update.previous_version()}};
    switch (update.update_case()) {
      case v1::TopologyUpdate::kNodeAdded:
        json["node"] = changed(update.node_added());
        break;
      case v1::TopologyUpdate::kNodeUpdated:
        json["node"] = changed(update.node_updated());
        break;
      case v1::TopologyUpdate::kNodeRemoved:
        json["node"] = changed(update.node_removed());
        break;
      case v1::TopologyUpdate::kFullSync:
        return nodes_json(update.full_sync(), {});
      case v1::TopologyUpdate::kRingChanged:
        json["ring"] = to_json(update.ring_changed());
        break;
      case v1::TopologyUpdate::kLagged:
        json["missed_updates"] = update.lagged().missed_updates();
        json["message"] = update.lagged().message();
        break;
      default:
        break;
    }
    return json;
  }

  /// A change tells no log time, and so no ages.
  static Json changed(const v1::NodeInfo& node) {
    Json json = node_json(node, 0);
    json.erase("heartbeat_age_ms");
    json.erase("state_age_ms");
    return json;
  }

  const std::string service_;
};

}  // namespace

std::shared_ptr<Feed> node_feed(Feed::Parts parts, const std::string& service) {
  return std::make_shared<NodeFeed>(std::move(parts), service);
}

}  // namespace muster::server
