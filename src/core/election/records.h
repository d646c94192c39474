#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"

namespace muster {

/// The highest epoch of a state or a floor. Damage may have raised an epoch, up to the powers of
/// two below this, and epochs still rise from there; no value that is likely to be written by
/// mistake is just below it. Below 2^53, so that every JSON reader has it exactly.
inline constexpr Epoch kEpochMax{6'755'399'441'055'743};

/// A term that its holder ended itself. If (incarnation, epoch) match, it is the receipt that the
/// holder's work has stopped, so that a successor need not wait for the lease.
struct ReleaseReceipt {
  WorkerId worker;
  Incarnation incarnation;
  Epoch epoch;
  bool operator==(const ReleaseReceipt&) const = default;
};

/// The content of `state.json`. Fields for decisions come first; the others inform people and the
/// s3db.js workers of a mixed fleet.
struct LeaderState {
  std::optional<WorkerId> leader;  ///< Empty: no worker holds the lease.
  Epoch epoch;
  Incarnation incarnation;  ///< Empty if the writer knows no incarnations.
  Nonce nonce;
  Duration lease{};  ///< As its holder wrote it; zero if it did not.
  std::optional<ReleaseReceipt> released;
  std::optional<WorkerId> preferred;  ///< The preferred successor of a release.
  std::vector<WorkerId> workers;      ///< Live workers as the leader saw them, sorted.
  /// The number of workers that fell silent in the leader's term, so that all report the same.
  std::uint64_t worker_timeouts = 0;

  WallTime written_at{};
  WallTime elected_at{};
  std::string leader_pod;
  std::string elected_by;
  std::string value;  ///< Published by the leader; empty: nothing.
  bool operator==(const LeaderState&) const = default;
};

/// The maximum size of a published value.
inline constexpr std::size_t kValueBytesMax = 1024;

[[nodiscard]] std::string encode(const LeaderState& state);
/// kCorrupt gives the reason. Accepts the states that real s3db.js workers write.
[[nodiscard]] Result<LeaderState> decode_leader_state(std::string_view body);
/// The highest number that an undecodable body may have meant as its epoch, so that a recovery
/// never goes below it.
[[nodiscard]] Epoch salvage_epoch(std::string_view body);

/// The content of `metadata.json`: made once, changed only to raise the floor.
struct NamespaceMetadata {
  Epoch epoch_floor;     ///< Raised to e before e is acquired.
  Duration lease_max{};  ///< No worker has acquired with a longer lease than this.
  std::string creator;
  WallTime created_at{};
  Duration heartbeat_interval{};
  Duration lease_timeout{};
  Duration worker_timeout{};
  bool operator==(const NamespaceMetadata&) const = default;
};

inline constexpr int kMetadataFormat = 1;

/// `previous` is the body to be replaced; its unknown fields are kept.
[[nodiscard]] std::string encode(const NamespaceMetadata& metadata, std::string_view previous = {});
[[nodiscard]] Result<NamespaceMetadata> decode_metadata(std::string_view body);

/// A time in which a worker could not reach the store, so that its circuit breaker opened. It is
/// reported once it is over. For people; no decision uses it.
struct Outage {
  WallTime since{};            ///< When the first failed heartbeat began, by the worker's clock.
  Duration lasted{};           ///< Until one succeeded; at most ten years.
  std::uint64_t failures = 0;  ///< Failed heartbeats, as the breaker counts them.
  std::uint64_t opened = 0;    ///< How often the breaker opened; at least once.
  bool operator==(const Outage&) const = default;
};

/// The content of `workers/worker={id}.json`.
struct WorkerRecord {
  WorkerId worker;
  Incarnation incarnation;
  Nonce nonce;
  WallTime last_heartbeat{};
  WallTime registered_at{};
  WallTime expires_at{};
  std::string pod;
  std::string plugin_name;
  std::string name_space;
  bool stopped = false;  ///< A tombstone: the worker stopped cleanly, the file is swept later.
  /// The leader is about to remove the file. No process overwrites it, so that the removal hits
  /// nothing else even on a store that cannot remove at a revision.
  bool sweep = false;
  std::optional<Outage> outage{};  ///< The outage that just ended; later writes omit it.
  /// Why it would not lead if asked, such as "paused"; empty: it would, or does not say.
  std::string aside{};
  bool operator==(const WorkerRecord&) const = default;
};

[[nodiscard]] std::string encode(const WorkerRecord& record);
[[nodiscard]] Result<WorkerRecord> decode_worker(std::string_view body);

/// The common prefix of the keys of all elections in a store.
inline constexpr const char* kElectionsPrefix = "plugin=coordinator/namespace=";
/// The election of a key; empty if it belongs to none.
[[nodiscard]] std::optional<std::string> election_of(std::string_view key);

/// The keys of an election's objects, in the layout of existing deployments, for mixed fleets.
struct NamespaceKeys {
  explicit NamespaceKeys(const std::string& name)
      : NamespaceKeys(Root{kElectionsPrefix + name + "/"}) {}
  /// The keys of an election below `root`, which ends with a slash: those of no user's election.
  [[nodiscard]] static NamespaceKeys below(std::string root) {
    return NamespaceKeys(Root{std::move(root)});
  }

  [[nodiscard]] std::string worker(const WorkerId& id) const {
    return workers + "worker=" + id.value() + ".json";
  }
  /// The worker id in a key under `workers`; empty if it is not a worker file.
  [[nodiscard]] std::optional<WorkerId> worker_of(std::string_view key) const;

  std::string root;
  std::string state;
  std::string metadata;
  std::string control;
  std::string workers;

 private:
  struct Root {
    std::string path;
  };
  explicit NamespaceKeys(Root place)
      : root(std::move(place.path)),
        state(root + "state.json"),
        metadata(root + "metadata.json"),
        control(root + "control.json"),
        workers(root + "workers/") {}
};

/// Names become parts of keys: 1–128 of letters, digits and `-_.:@`, so no id can escape its place.
[[nodiscard]] Status validate_name(std::string_view what, std::string_view name);

}  // namespace muster
