#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "muster/v1/admin.pb.h"
#include "muster/v1/peer.pb.h"
#include "server/rpc/router.h"
#include "server/service/cluster.h"

namespace muster::server {

/// muster.v1.AdminService, and muster.v1.PeerService, by which servers know of each other.
/// Loop thread only.
class AdminService {
 public:
  /// Hands the leadership over, to the server named if it can.
  using StepDown = std::function<void(std::optional<WorkerId>)>;

  AdminService(Cluster& cluster, std::string own_id, StepDown step_down)
      : cluster_(cluster), own_id_(std::move(own_id)), step_down_(std::move(step_down)) {}

  void add_to(rpc::Router& router);
  /// A term began here: what was heard in an earlier one says nothing.
  void begin_term() {
    heard_.clear();
    term_began_ = cluster_.loop().now();
  }

 private:
  void DrainNode(const rpc::CallPtr& call, const v1::DrainNodeRequest& request);
  void SetHashRing(const rpc::CallPtr& call, const v1::SetHashRingRequest& request);
  void ListServers(const rpc::CallPtr& call, const v1::ListServersRequest& request);
  void ForgetServer(const rpc::CallPtr& call, const v1::ForgetServerRequest& request);
  void TransferLeadership(const rpc::CallPtr& call, const v1::TransferLeadershipRequest& request);
  void Announce(const rpc::CallPtr& call, const v1::AnnounceRequest& request);

  Cluster& cluster_;
  std::string own_id_;
  StepDown step_down_;
  MonoTime term_began_{};
  std::map<std::string, MonoTime> heard_;  ///< At most one for each server that announced itself.
};

}  // namespace muster::server
