#pragma once

#include <map>
#include <optional>
#include <string>

#include "muster/v1/coordinator.pb.h"
#include "server/api/cluster.h"
#include "server/api/store_hub.h"
#include "server/api/topology_hub.h"
#include "server/rpc/pipeline.h"
#include "server/rpc/router.h"

namespace muster::server {

/// muster.v1.CoordinatorService. Loop thread only.
class CoordinatorService {
 public:
  CoordinatorService(Cluster& cluster, TopologyHub& hub) : cluster_(cluster), hub_(hub) {}

  void add_to(rpc::Router& router);

  /// The whole topology as this server has it.
  [[nodiscard]] v1::GetTopologyResponse topology(const membership::ServiceFilter& services) const;
  [[nodiscard]] v1::HealthCheckResponse health() const;

 private:
  void GetTopology(const rpc::CallPtr& call, const v1::GetTopologyRequest& request);
  void WatchTopology(const rpc::CallPtr& call, const v1::WatchTopologyRequest& request);
  void RegisterNode(const rpc::CallPtr& call, const v1::RegisterNodeRequest& request);
  void DeregisterNode(const rpc::CallPtr& call, const v1::DeregisterNodeRequest& request);
  void Heartbeat(const rpc::CallPtr& call, const v1::HeartbeatRequest& request);
  void HeartbeatStream(const rpc::CallPtr& call);
  void on_batch(const rpc::CallPtr& call, const std::string& bytes, rpc::Pipeline::Answer answer);

  /// The same as topology(), encoded once for all requests before the next entry.
  [[nodiscard]] rpc::Payload topology_bytes(const membership::ServiceFilter& services, bool fresh);
  [[nodiscard]] Status note(const v1::HeartbeatRequest& beat);
  [[nodiscard]] rpc::RpcStatus beat_refused(const v1::HeartbeatRequest& beat,
                                            const Error& error) const;
  [[nodiscard]] v1::HeartbeatBatchResponse note(const v1::HeartbeatBatch& batch);

  Cluster& cluster_;
  TopologyHub& hub_;
  v1::HeartbeatBatch batch_;  ///< The one that is being noted.
  /// What a topology says of nodes and ring, as of that entry, by the text of the filter.
  std::map<std::string, std::string> nodes_bytes_;
  std::optional<rlog::Index> nodes_at_;
};

}  // namespace muster::server
