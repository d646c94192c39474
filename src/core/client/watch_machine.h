#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "core/client/topology_cache.h"

namespace muster::client {

struct WatchConfig {
  /// A stream that is silent for this long is abandoned. Servers send something every 30 s.
  Duration silence_max = 60s;
  /// A stream that must begin with a full sync is abandoned if that has not come by then.
  Duration first_message_max = 10s;
  Duration first_delay = 100ms;  ///< Before a stream is reopened; doubles while that fails.
  Duration delay_max = 5s;
  double jitter = 0.25;
  /// How long all servers may be behind the version already seen. After that they must have lost
  /// it, for example with a replaced engine, and their topology is accepted.
  Duration behind_max = 30s;
  ServiceFilter services{};  ///< Of the nodes to follow.

  [[nodiscard]] Status validate() const;
};

enum class WatchEventKind {
  kSnapshot,  ///< The whole topology: at the beginning, and after missed changes.
  kNodeAdded,
  kNodeUpdated,
  kNodeRemoved,
  kRingChanged,
  kLagged,        ///< This watcher read too slowly; a snapshot follows.
  kDisconnected,  ///< The stream broke; another one is opened. That alone loses nothing.
};
/// "snapshot", "node_added" …
[[nodiscard]] const char* to_string(WatchEventKind kind);

struct WatchEvent {
  WatchEventKind kind;
  /// The topology after the event.
  std::shared_ptr<const TopologyView> view;
  Node node{};           ///< For the three kinds about nodes; a removed node as it was before.
  std::string reason{};  ///< For kLagged and kDisconnected.
};

/// The decisions of a watch that recovers: the request of a stream, the meaning of its messages,
/// when to abandon it, and when to open the next one.
///
/// Guarantees: events come in the order of versions, and each version follows the one before or is
/// a snapshot. A server that is behind the seen version is not believed before behind_max, unless
/// it reports another history. Pure: the caller passes the time. Threads: one.
class WatchMachine {
 public:
  WatchMachine(const WatchConfig& config, Random random)
      : config_(config), random_(random), cache_(config.services) {}

  /// For the request of the stream opened now, together with history().
  [[nodiscard]] TopologyVersion begin(MonoTime now);
  /// The history of the versions, from the last snapshot.
  [[nodiscard]] const std::string& history() const { return history_; }

  /// Adds the meaning of the message to `events`. False: abandon this stream, for reason().
  [[nodiscard]] bool receive(const TopologyUpdate& given, MonoTime now,
                             std::vector<WatchEvent>& events);
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// The stream is abandoned unless a message comes before this.
  [[nodiscard]] MonoTime silent_at() const;

  /// The stream has ended, or was abandoned. Returns when to open the next one.
  [[nodiscard]] MonoTime end(MonoTime now);

  [[nodiscard]] const TopologyCache& cache() const { return cache_; }

 private:
  [[nodiscard]] bool receive_sync(const TopologyUpdate& update, MonoTime now,
                                  std::vector<WatchEvent>& events);

  WatchConfig config_;
  Random random_;
  TopologyCache cache_;
  std::string history_;
  bool synced_ = false;  ///< The copy is the servers' at its version.
  bool heard_ = false;   ///< This stream has sent something useful.
  MonoTime heard_at_{};
  int failures_ = 0;
  std::optional<MonoTime> behind_since_;
  std::string reason_;
};

}  // namespace muster::client
