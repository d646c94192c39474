#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/loop.h"
#include "core/cluster/cluster_state.h"
#include "rpc/call.h"

namespace muster::server {

/// Sends changes of the versioned store to all watchers of a prefix.
///
/// A watcher is a revision in the store's own history and reads from there as fast as it can. A
/// watcher that the history has overtaken gets `reset` and lists again. Threads: loop thread only.
class StoreHub {
 public:
  struct Options {
    Duration keepalive = 30s;  ///< A watcher learns its position at least this often.
    std::size_t response_events = 256;
    std::size_t response_bytes = 512 * 1024;
  };

  StoreHub(Loop& loop, const cluster::ClusterState& state, Options options);
  ~StoreHub();

  /// Takes over a call that asks for changes after `after`; 0 means "from now on". A later revision
  /// than this server's belongs to another history; the caller must ensure that this server has
  /// caught up. The first response contains `history`.
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
