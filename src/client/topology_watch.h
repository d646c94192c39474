#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "base/time.h"
#include "client/coordinator_client.h"
#include "client/published.h"
#include "core/client/watch_machine.h"

namespace muster::client {

/// Called on the client's own thread, which must not be blocked.
using WatchCallback = std::function<void(const WatchEvent& event, TopologyVersion version)>;
/// Reads the newest topology without a lock; each thread needs its own.
using TopologyReader = Published<TopologyView>::Reader;

/// A watch that continues until it is destroyed; no callback runs afterwards. Any thread may
/// destroy it, before its client.
class TopologyWatch {
 public:
  TopologyWatch(Client& client, const WatchConfig& config, WatchCallback callback);
  ~TopologyWatch();
  TopologyWatch(const TopologyWatch&) = delete;
  TopologyWatch& operator=(const TopologyWatch&) = delete;

  /// True once the topology has arrived; false if it has not within `limit`. Not for the client's
  /// own thread.
  [[nodiscard]] bool wait_for_topology(Duration limit);
  /// As of the last event; empty, at version 0, before the first.
  [[nodiscard]] std::shared_ptr<const TopologyView> view() const;
  [[nodiscard]] TopologyReader reader() const;

 private:
  struct Shared;
  class Session;

  Runtime& runtime_;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Session> session_;  ///< On the loop.
};

/// Follows the topology: every change in order, without a gap, even if servers come and go. After a
/// gap that cannot be closed, or `lagged`, comes a snapshot; a stream that is silent for
/// `silence_max` is replaced. kInvalid if the configuration cannot work.
[[nodiscard]] Result<std::unique_ptr<TopologyWatch>> watch_topology_with_recovery(
    Client& client, const WatchConfig& config, WatchCallback callback);

}  // namespace muster::client
