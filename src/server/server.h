#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "base/result.h"
#include "candidate/candidate.h"
#include "platform/event_loop.h"
#include "server/config.h"
#include "server/leader/leader_term.h"
#include "server/rpc/router.h"
#include "server/rpc/rpc_server.h"
#include "server/service/admin_service.h"
#include "server/service/cluster.h"
#include "server/service/coordinator_service.h"
#include "server/service/store_service.h"
#include "server/state/replica.h"
#include "server/watch/store_hub.h"
#include "server/watch/topology_hub.h"
#include "store/store.h"

namespace muster {

/// One musterd: a copy of the replicated state, a candidate for leading it, and the services over
/// gRPC, all on one loop.
///
/// Serves reads and watches from its own copy, passes writes and heartbeats on to the leader.
/// Plaintext only, hence on loopback only. Loop thread only; stop() before destroying it, or it
/// goes as a crash would: without handing over.
class Server {
 public:
  struct Surroundings {
    EventLoop& loop;
    ObjectStore& store;
    Random random;
    /// The server cannot go on: the log is damaged, has moved, or needs a newer version.
    std::function<void(const Error&)> on_fatal;
  };

  /// `config` is complete and valid.
  Server(const ServerConfig& config, Surroundings surroundings);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Listens, and begins to load the state and to take part; calls are refused as UNAVAILABLE
  /// until the state is there. Answers with the address that clients are told.
  [[nodiscard]] Result<std::string> start();
  /// Hands over what it leads, heartbeats written, ends every call, and then calls `done`.
  void stop(std::function<void()> done);

  [[nodiscard]] server::LeaderView leader() const;

 private:
  void opened(const Status& status);
  void dispatch(const rpc::CallPtr& call);
  void begin_term(Epoch epoch);
  void announce();
  void update_health();

  ServerConfig config_;
  EventLoop& loop_;
  ObjectStore& store_;
  Random random_;
  std::function<void(const Error&)> on_fatal_;
  std::string address_;
  bool open_ = false;
  bool stopping_ = false;

  server::Replica replica_;
  server::LeaderTerm term_;
  Candidate candidate_;
  rpc::RpcServer rpc_;
  server::Cluster cluster_;
  server::TopologyHub topology_hub_;
  server::StoreHub store_hub_;
  server::CoordinatorService coordinator_;
  server::StoreService stores_;
  server::AdminService admin_;
  rpc::Router router_;
  Timer announce_timer_;
  Timer health_timer_;
  Lifetime lifetime_;
};

}  // namespace muster
