#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/loop.h"
#include "core/cluster/cluster_state.h"
#include "rpc/call.h"

namespace muster::server {

/// Sends changes of the versioned store to everybody who watches a prefix of it.
///
/// A watcher is a revision in the store's own history and reads on from there as fast as it can;
/// one that the history has overtaken is told `reset` and lists again. Loop thread only.
class StoreHub {
 public:
  struct Options {
    Duration keepalive = 30s;  ///< How often a watcher hears how far it is, at least.
    std::size_t response_events = 256;
    std::size_t response_bytes = 512 * 1024;
  };

  StoreHub(Loop& loop, const cluster::ClusterState& state, Options options);
  ~StoreHub();

  /// Takes over a call that has asked for what changes after `after`; 0 for "from now on". One from
  /// after our time is of another history: that this server has caught up is the caller's to see.
  /// `history` is told with the first response.
  void watch(const rpc::CallPtr& call, std::string prefix, cluster::KvRevision after,
             std::string history);
  /// After each entry, and after the whole state was replaced.
  void publish();
  void close();

  [[nodiscard]] std::size_t watchers() const { return watchers_.size(); }

 private:
  struct Watcher;
  using Shared = std::shared_ptr<Watcher>;

  void pump(const Shared& watcher);
  void send(const Shared& watcher, rpc::Payload response);

  Loop& loop_;
  const cluster::ClusterState& state_;
  Options options_;
  std::unordered_set<Shared> watchers_;
  cluster::KvRevision published_ = 0;
};

}  // namespace muster::server
