#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "base/loop.h"
#include "core/cluster/cluster_state.h"
#include "rpc/call.h"

namespace muster::server {

/// Sends every change of the topology to all watchers.
///
/// A watcher is a version in one shared history: it gets the changes after its version, one
/// message at a time, as fast as it reads. So a message for many is made once, a slow watcher
/// costs no memory, and a gap cannot happen: a watcher that the history has overtaken gets
/// `lagged` and the whole topology. The history is bounded in changes and in bytes. Threads: loop
/// thread only.
class TopologyHub {
 public:
  struct Options {
    std::size_t history_events = 4096;
    std::size_t history_bytes = 8 * 1024 * 1024;
    Duration keepalive = 30s;
    /// A watcher has fallen behind.
    std::function<void()> on_lagged{};
  };
  /// The whole topology as a full_sync update.
  using FullSync = std::function<rpc::Payload()>;

  TopologyHub(Loop& loop, const cluster::ClusterState& state, FullSync full_sync, Options options);
  ~TopologyHub();

  /// Takes over a call that asks for everything after `since`; 0 means everything.
  void watch(const rpc::CallPtr& call, std::uint64_t since);

  /// After each entry: what it changed.
  void publish(const std::vector<membership::Event>& events);
  /// After the whole state was replaced.
  void reset();
  /// Ends all watches, so that their clients go elsewhere at once.
  void close();

  [[nodiscard]] std::size_t watchers() const { return watchers_.size(); }
  /// The number of versions not yet sent to the slowest watcher.
  [[nodiscard]] std::uint64_t lag() const;

 private:
  struct Change {
    std::uint64_t version;
    rpc::Payload update;
  };
  struct Watcher;
  using Shared = std::shared_ptr<Watcher>;
  struct ByConnection {
    bool operator()(const Shared& a, const Shared& b) const;
  };

  /// Serves all watchers, a few at a time: thousands of writes would keep the loop from its timers.
  /// One round ends before the next begins; otherwise the last watchers would never get their turn.
  void pump_all();
  void pump_next();
  void pump(const Shared& watcher);
  void send(const Shared& watcher, rpc::Payload update, std::uint64_t version);
  void send_lagged(const Shared& watcher);
  void send_full(const Shared& watcher);
  void send_keepalive(const Shared& watcher);
  void stay_in_touch(const Shared& watcher);
  void forget_old();
  [[nodiscard]] std::uint64_t version() const { return state_.topology().version().value(); }
  /// The version that the oldest change in the history continues from.
  [[nodiscard]] std::uint64_t reaches_back_to() const;

  Loop& loop_;
  const cluster::ClusterState& state_;
  FullSync full_sync_;
  Options options_;
  std::deque<Change> history_;  ///< Without gaps, up to the version of the state.
  std::size_t history_bytes_ = 0;
  /// Watchers of one connection are adjacent, so that their messages are sent together.
  std::set<Shared, ByConnection> watchers_;
  std::vector<std::weak_ptr<Watcher>> due_;  ///< Those that pump_all() has yet to serve.
  bool again_ = false;                       ///< Something has changed since it began.
  Timer due_timer_;
  rpc::Payload full_;  ///< The last one made, good for all who ask within a moment.
  std::uint64_t full_version_ = 0;
  MonoTime full_made_{};
};

}  // namespace muster::server
