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
  /// A stream on which nothing came for this long is given up. Servers send something every 30 s.
  Duration silence_max = 60s;
  /// A stream that must begin with a full sync is given up when that has not come by then.
  Duration first_message_max = 10s;
  Duration first_delay = 100ms;  ///< Before a stream is opened anew; doubles while that fails.
  Duration delay_max = 5s;
  double jitter = 0.25;
  /// How long servers may all be behind what was seen already. After that they have lost it, as
  /// an engine that was replaced by an empty one has, and their topology is taken as it is.
  Duration behind_max = 30s;

  [[nodiscard]] Status validate() const;
};

enum class WatchEventKind {
  kSnapshot,  ///< The whole topology: at the beginning, and after changes that were not seen.
  kNodeAdded,
  kNodeUpdated,
  kNodeRemoved,
  kRingChanged,
  kLagged,        ///< This watcher read too slowly; a snapshot follows.
  kDisconnected,  ///< The stream broke; another is opened. Nothing is lost by that alone.
};
/// "snapshot", "node_added" …
[[nodiscard]] const char* to_string(WatchEventKind kind);

struct WatchEvent {
  WatchEventKind kind;
  /// The topology after the event.
  std::shared_ptr<const TopologyView> view;
  Node node{};           ///< Of the three kinds about nodes; as it was, when it was removed.
  std::string reason{};  ///< Of kLagged and kDisconnected.
};

/// The decisions of a watch that recovers: what a stream is asked for, what its messages mean, when
/// it is given up, and when the next one is opened.
///
/// Guarantees: events come in the order of versions, and each version follows the one before or is
/// a snapshot. A server that is behind what was seen is not believed before behind_max, unless it
/// tells of another history. Pure: told the time; one thread.
class WatchMachine {
 public:
  WatchMachine(const WatchConfig& config, Random random) : config_(config), random_(random) {}

  /// For the request of the stream that is opened now, with history().
  [[nodiscard]] TopologyVersion begin(MonoTime now);
  /// What the versions count in, as the last snapshot told.
  [[nodiscard]] const std::string& history() const { return history_; }

  /// Adds what the message means to `events`. False: give this stream up, for reason().
  [[nodiscard]] bool receive(const TopologyUpdate& update, MonoTime now,
                             std::vector<WatchEvent>& events);
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// The stream is given up unless a message comes before this.
  [[nodiscard]] MonoTime silent_at() const;

  /// The stream has ended, or was given up. When to begin the next one.
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
  bool heard_ = false;   ///< This stream has said something that was of use.
  MonoTime heard_at_{};
  int failures_ = 0;
  std::optional<MonoTime> behind_since_;
  std::string reason_;
};

}  // namespace muster::client
