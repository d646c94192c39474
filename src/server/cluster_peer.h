#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "base/result.h"
#include "candidate/candidate.h"
#include "muster/v1/peer.pb.h"
#include "server/api/admin_service.h"
#include "server/api/cluster.h"
#include "server/api/coordinator_service.h"
#include "server/api/election_service.h"
#include "server/api/lock_service.h"
#include "server/api/observe_service.h"
#include "server/api/store_hub.h"
#include "server/api/store_service.h"
#include "server/api/topology_hub.h"
#include "server/cluster/leader_term.h"
#include "server/cluster/log_mover.h"
#include "server/cluster/replicated_state.h"
#include "server/config/config.h"
#include "server/rpc/peers.h"
#include "server/rpc/router.h"
#include "server/security/access_control.h"
#include "server/web/observer.h"
#include "store/store.h"

namespace muster::server {

/// One of the servers that share an engine: a copy of the replicated state, a candidate for leading
/// it, and the services over it, all on one loop.
///
/// It serves reads and watches from its own copy, and forwards writes and heartbeats to the leader.
/// Threads: loop thread only. Call stop() before destroying it; otherwise it ends as in a crash,
/// without a hand-over.
class ClusterPeer {
 public:
  struct Surroundings {
    Loop& loop;
    ObjectStore& store;
    rpc::Peers& peers;
    AccessControl& access;
    std::string address;  ///< The address that clients and other servers dial.
    Random random;
    /// The server cannot go on: the log is damaged, has moved, or needs a newer version.
    std::function<void(const Error&)> on_fatal;
    Observer& observer;
    /// Removes a server that is gone for good from the engine, if the engine has members.
    AdminService::RemoveMember remove_member;
    /// Opens the target engine of a move.
    OpenEngine open_engine;
    /// Called now and then with whether this server can serve clients.
    std::function<void(bool)> set_serving;
  };

  /// `config` is complete and valid.
  ClusterPeer(const ServerConfig& config, Surroundings surroundings);
  ~ClusterPeer();
  ClusterPeer(const ClusterPeer&) = delete;
  ClusterPeer& operator=(const ClusterPeer&) = delete;

  /// Begins to load the state and to take part.
  void start();
  /// Answers a call; with UNAVAILABLE until the state is there.
  void dispatch(const rpc::CallPtr& call);
  /// Hands over, with heartbeats written, ends every watch, and then calls `done`.
  void stop(std::function<void()> done);

  /// Whether the state is there.
  [[nodiscard]] bool open() const { return open_; }
  [[nodiscard]] LeaderView leader() const;
  /// The position of the state, for records of changes.
  [[nodiscard]] AuditLog::Position position() const;
  [[nodiscard]] const ReplicatedState& replica() const { return replica_; }
  /// What the services of this server share; until the end of this.
  [[nodiscard]] Cluster& cluster() { return cluster_; }

 private:
  static constexpr const char* kHealthCheck = "/muster.v1.CoordinatorService/HealthCheck";
  static constexpr Duration kMoveStateTimeout = 1s;
  /// How long a move waits for servers that neither answer nor are known to be gone.
  static constexpr Duration kMarkLimit = 20s;
  static constexpr const char* kMoveState = "/muster.v1.PeerService/MoveState";

  void opened(const Status& status);
  void make_sure_of_own_id(std::function<void()> then);
  void take_part();
  [[nodiscard]] Error explained(const Error& error) const;
  void move(const std::string& engine, Callback<rlog::Index> done);
  void sealed(const rlog::Seal& seal);
  void show_move();
  void tell_move_state(const rpc::CallPtr& call);
  struct MoveStates {
    std::map<std::string, v1::MoveStateResponse> answers{};  ///< By the server's id.
    std::map<std::string, rpc::RpcStatus> failures{};
  };
  void ask_move_state(const v1::MoveStateRequest& request, Duration timeout,
                      std::function<void(const MoveStates&)> done);
  void ask_for_mark(const rlog::Seal& seal, MonoTime limit, Callback<Done> done);
  void leave(const std::string& target, MonoTime limit);
  void begin_term(Epoch epoch);
  void announce();
  void on_trouble(const telemetry::Trouble& trouble);
  void update_health();
  void note_outage();
  void note_servers();
  void write_down(
      const cluster::Note& note, std::function<void()> settled = [] {});
  void watch_election(const telemetry::Event& event);
  void show();
  [[nodiscard]] std::map<std::string, Sighting> sightings() const;

  ServerConfig config_;
  Loop& loop_;
  ObjectStore& store_;
  Random random_;
  std::function<void(const Error&)> on_fatal_;
  rpc::Peers& peers_;
  std::function<void(bool)> set_serving_;
  std::string address_;
  const std::string process_;  ///< Random: no other process of this id has it.
  Observer& observer_;
  bool open_ = false;
  /// An outage of the engine, and whether a note about it may have been written.
  struct Outage {
    Duration length{0};
    std::uint64_t told_before = 0;  ///< What was last written about the engine before it.
    MonoTime ended{};
  };
  std::optional<Outage> outage_;
  bool stopping_ = false;

  Result<std::string> known_log_;  ///< Of the data directory; empty when it knows none.
  ReplicatedState replica_;
  LogMover mover_;
  std::optional<rlog::Seal> seal_;  ///< The log goes on elsewhere.
  bool left_ = false;               ///< Everything is there.
  Timer move_timer_;
  LeaderTerm term_;
  Candidate candidate_;
  Cluster cluster_;
  TopologyHub topology_hub_;
  StoreHub store_hub_;
  CoordinatorService coordinator_;
  StoreService stores_;
  ElectionService elections_;
  LockService locks_;
  AdminService admin_;
  ObserveService explanations_;
  rpc::Router router_;
  std::set<std::string> being_told_;      ///< Servers of which a note is on its way.
  std::optional<MonoTime> stood_at_;      ///< Since when this server has been campaigning.
  std::map<std::string, Sighting> told_;  ///< What the leader last said of all servers,
  MonoTime told_at_{};                    ///< and when that was.
  Timer announce_timer_;
  Timer health_timer_;
  Lifetime lifetime_;
};

}  // namespace muster::server
