#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "platform/event_loop.h"
#include "server/api/local_store.h"
#include "server/cluster_peer.h"
#include "server/rpc/peers.h"
#include "server/web/metrics.h"
#include "store/memory/memory_store.h"

namespace muster::testing {

/// Several servers on one loop of this process. They share an engine in memory and reach each other
/// without a network; everything else is what musterd runs. Threads: loop thread only.
class ServerFleet {
 public:
  ServerFleet(EventLoop& loop, int servers);
  ~ServerFleet();
  ServerFleet(const ServerFleet&) = delete;
  ServerFleet& operator=(const ServerFleet&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(servers_.size()); }
  [[nodiscard]] server::ClusterPeer& at(int server) { return *servers_.at(index(server))->peer; }
  /// A store of that server, as its services use it.
  [[nodiscard]] std::unique_ptr<ObjectStore> new_store(int server) {
    return std::make_unique<server::LocalStore>(at(server).cluster(), "");
  }
  /// Ends a server as a crash does. Calls to it are never answered. Its stores must be gone.
  void crash(int server);

 private:
  class Link;
  struct Server {
    std::unique_ptr<MemoryStore> engine;
    std::unique_ptr<Link> link;
    server::Metrics metrics;
    std::unique_ptr<server::AccessControl> access;
    std::unique_ptr<server::Observer> observer;
    std::unique_ptr<server::ClusterPeer> peer;
  };
  static std::size_t index(int server) { return static_cast<std::size_t>(server); }

  EventLoop& loop_;
  std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  std::map<std::string, Server*> by_address_;
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace muster::testing
