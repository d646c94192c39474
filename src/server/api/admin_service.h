#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/cluster/upgrade.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/peer.pb.h"
#include "server/api/cluster.h"
#include "server/cluster/sighting.h"
#include "server/rpc/router.h"
#include "store/store.h"

namespace muster::server {

/// muster.v1.AdminService, and muster.v1.PeerService, by which servers learn about each other.
/// Threads: loop thread only.
class AdminService {
 public:
  /// Hands over the leadership, to the named server if possible.
  using StepDown = std::function<void(std::optional<WorkerId> to, const std::string& why)>;

  /// Takes a server out of the engine, where that has members; empty where it has none.
  using RemoveMember = std::function<void(const std::string& id, Callback<Done> done)>;
  /// Sends the whole log to a call.
  using Backup = std::function<void(const rpc::CallPtr& call)>;
  /// Continues the log in the engine at that address.
  using MoveLog = std::function<void(const std::string& engine, Callback<rlog::Index> done)>;
  struct Actions {
    StepDown step_down;
    Backup backup;
    MoveLog move;
    RemoveMember remove_member;
  };

  /// What a new server needs to be told, as this one has it.
  struct Common {
    std::string engine;      ///< file, etcd, managed or s3.
    std::string crl_option;  ///< --crl-file, --crl-url or empty.
  };

  AdminService(Cluster& cluster, std::string own_id, Common common, Actions actions)
      : cluster_(cluster),
        own_id_(std::move(own_id)),
        common_(std::move(common)),
        actions_(std::move(actions)) {}

  void add_to(rpc::Router& router);
  void begin_term() {
    reachability_.begin(cluster_.loop().now());
    applied_.clear();
  }
  /// Which servers this one has heard while it leads.
  [[nodiscard]] const cluster::Reachability& reachability() const { return reachability_; }
  /// And what they reported about themselves.
  [[nodiscard]] std::map<std::string, Sighting> sightings() const;

 private:
  void DrainNode(const rpc::CallPtr& call, const v1::DrainNodeRequest& request);
  void SetHashRing(const rpc::CallPtr& call, const v1::SetHashRingRequest& request);
  void ListServers(const rpc::CallPtr& call, const v1::ListServersRequest& request);
  void RemoveServer(const rpc::CallPtr& call, const v1::RemoveServerRequest& request);
  void forget(const rpc::CallPtr& call, const std::string& id, bool was_member);
  /// kConflict while the server runs, or may run, as far as this one knows.
  [[nodiscard]] Status is_gone(const std::string& id) const;
  /// Whether a leader may hand over to that server; otherwise why not.
  [[nodiscard]] Status may_lead(const std::string& id) const;
  void TransferLeadership(const rpc::CallPtr& call, const v1::TransferLeadershipRequest& request);
  void Move(const rpc::CallPtr& call, const v1::MoveRequest& request);
  void Announce(const rpc::CallPtr& call, const v1::AnnounceRequest& request);

  Cluster& cluster_;
  std::string own_id_;
  Common common_;
  Actions actions_;
  cluster::Reachability reachability_;
  /// How far they had read the log; at most one for each server that announced itself.
  std::map<std::string, std::uint64_t> applied_;
};

}  // namespace muster::server
