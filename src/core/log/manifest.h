#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/log/position.h"

namespace muster::rlog {

/// One snapshot, as named by the manifest.
struct SnapshotRef {
  Position position;  ///< Of the last entry in it.
  Nonce nonce;        ///< In the name of its parts, so that no name is ever used twice.
  Digest head{};      ///< Of the object that lists its parts.
  std::uint64_t bytes = 0;
  std::string unknown;
  bool operator==(const SnapshotRef&) const = default;
};

/// The only object of a log that changes; only by compare-and-swap, and never removed (L1).
struct Manifest {
  std::string log_id;
  std::string origin;  ///< The id it was first made with; the chain begins there.
  Nonce nonce;         ///< New with every change, so that a lost reply can be read back.
  /// Every entry is created in one transaction with a check of this object. Then a deleted number
  /// can never come back, so an existing entry counts without another read.
  bool guarded = false;
  std::optional<SnapshotRef> latest;
  std::optional<SnapshotRef> previous;
  Index floor;          ///< The highest number whose deletion may have begun.
  std::string pending;  ///< The move or restore still filling this store; then it is not a log.
  std::vector<std::string> opened_by;  ///< Moves that ended here: their seals do not bind.
  std::string cluster;                 ///< The name of the cluster; empty: it has none.
  std::string unknown;
  bool operator==(const Manifest&) const = default;
};

[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
[[nodiscard]] Result<Manifest> decode_manifest(std::string_view body);

/// The parts of a snapshot.
struct SnapshotHead {
  struct Part {
    std::uint64_t bytes = 0;
    Digest digest{};
    bool operator==(const Part&) const = default;
  };
  Position position;
  std::vector<Part> parts;
  bool operator==(const SnapshotHead&) const = default;
};

[[nodiscard]] std::string encode_snapshot_head(const SnapshotHead& head);
[[nodiscard]] Result<SnapshotHead> decode_snapshot_head(std::string_view body);

/// The manifest after a snapshot; kConflict unless its index is higher than the latest one's (L5).
[[nodiscard]] Result<Manifest> with_snapshot(Manifest manifest, SnapshotRef snapshot);
/// The manifest with its floor as high as possible: at the previous snapshot, so that that snapshot
/// and the later entries stay complete (L5). Nothing if it is there already.
[[nodiscard]] std::optional<Manifest> with_raised_floor(Manifest manifest);
/// Whether a set of parts is and stays unneeded: no newer than the latest snapshot and neither of
/// the kept ones (L6). A newer one may belong to a swap under way.
[[nodiscard]] bool is_garbage(const Manifest& manifest, Index set_index, bool kept);
/// kConflict if `now` cannot follow `before`: another log, or one that went back.
[[nodiscard]] Status check_follows(const Manifest& before, const Manifest& now);
/// Lifts a seal whose move ended in this very store.
void lift_own_seal(Position& position, const Manifest& manifest);

}  // namespace muster::rlog
