#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"

namespace muster {

/// The highest epoch that a state or a floor may have. Damage may have made an epoch high, up to
/// the powers of two below this, and epochs still rise from there; nothing that is likely to be
/// written by mistake lies just below it. Below 2^53, so that every JSON reader has it exactly.
inline constexpr Epoch kEpochMax{6'755'399'441'055'743};

/// A term that its holder ended itself. Matching (incarnation, epoch) it is the receipt that the
/// holder's work has stopped, so that a successor need not wait the lease out.
struct ReleaseReceipt {
  WorkerId worker;
  Incarnation incarnation;
  Epoch epoch;
  bool operator==(const ReleaseReceipt&) const = default;
};

/// The content of `state.json`. What decisions use comes first; the rest informs people and the
/// s3db.js workers of a mixed fleet.
struct LeaderState {
  std::optional<WorkerId> leader;  ///< Empty: nobody holds the lease.
  Epoch epoch;
  Incarnation incarnation;  ///< Empty when a worker wrote it that knows no incarnations.
  Nonce nonce;
  Duration lease{};  ///< As long as its holder wrote; zero when it did not say.
  std::optional<ReleaseReceipt> released;
  std::optional<WorkerId> preferred;  ///< Who a release was meant for.
  std::vector<WorkerId> workers;      ///< Live workers as the leader saw them, sorted.
  /// How many workers the leader has seen fall silent in its term, so that all count the same.
  std::uint64_t worker_timeouts = 0;

  WallTime written_at{};
  WallTime elected_at{};
  std::string leader_pod;
  std::string elected_by;
  std::string value;  ///< What the leader publishes about itself; empty: nothing.
  bool operator==(const LeaderState&) const = default;
};

/// No leader publishes more.
inline constexpr std::size_t kValueBytesMax = 1024;

[[nodiscard]] std::string encode(const LeaderState& state);
/// kCorrupt says what is wrong. Tolerates what real s3db.js workers write.
[[nodiscard]] Result<LeaderState> decode_leader_state(std::string_view body);
/// The highest number that a body which does not decode may still have meant as its epoch, so
/// that a recovery never goes below it.
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

/// `previous` is the body this one replaces: fields that we do not know are kept.
[[nodiscard]] std::string encode(const NamespaceMetadata& metadata, std::string_view previous = {});
[[nodiscard]] Result<NamespaceMetadata> decode_metadata(std::string_view body);

/// A time in which a worker could not reach the store, so that its breaker opened. It can be told
/// only once it is over. For people; nothing is decided by it.
struct Outage {
  WallTime since{};            ///< The first heartbeat that failed began, by the worker's clock.
  Duration lasted{};           ///< Until one succeeded; at most ten years.
  std::uint64_t failures = 0;  ///< Heartbeats that failed, as the breaker counts them.
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
  bool stopped = false;  ///< A tombstone: the worker left in order, the file is swept later.
  /// The file is about to be removed by the leader. Nobody writes over it, so that the removal
  /// hits nothing else even on a store that cannot remove at a revision.
  bool sweep = false;
  std::optional<Outage> outage{};  ///< The one that has just ended; later writes leave it out.
  /// Why it would not lead if it were asked to, as "paused"; empty: it would, or does not say.
  std::string aside{};
  bool operator==(const WorkerRecord&) const = default;
};

[[nodiscard]] std::string encode(const WorkerRecord& record);
[[nodiscard]] Result<WorkerRecord> decode_worker(std::string_view body);

/// What the keys of all elections of a store begin with.
inline constexpr const char* kElectionsPrefix = "plugin=coordinator/namespace=";
/// The election that a key belongs to; empty when it belongs to none.
[[nodiscard]] std::optional<std::string> election_of(std::string_view key);

/// Where a namespace keeps its objects; the layout of seed deployments, kept for mixed fleets.
struct NamespaceKeys {
  explicit NamespaceKeys(const std::string& name)
      : root(kElectionsPrefix + name + "/"),
        state(root + "state.json"),
        metadata(root + "metadata.json"),
        control(root + "control.json"),
        workers(root + "workers/") {}

  [[nodiscard]] std::string worker(const WorkerId& id) const {
    return workers + "worker=" + id.value() + ".json";
  }
  /// The id that a key under `workers` names; empty when it is no worker file.
  [[nodiscard]] std::optional<WorkerId> worker_of(std::string_view key) const;

  std::string root;
  std::string state;
  std::string metadata;
  std::string control;
  std::string workers;
};

/// Names become parts of keys: 1–128 of letters, digits and `-_.:@`, so no id can leave its place.
[[nodiscard]] Status validate_name(std::string_view what, std::string_view name);

}  // namespace muster
