#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/log/position.h"

namespace muster::rlog {

/// One snapshot, as the manifest names it.
struct SnapshotRef {
  Position position;  ///< Of the last entry that is in it.
  Nonce nonce;        ///< In the name of its parts, so that no name is ever used twice.
  Digest head{};      ///< Of the object that lists the parts.
  std::uint64_t bytes = 0;
  std::string unknown;
  bool operator==(const SnapshotRef&) const = default;
};

/// The one object of a log that changes; only by compare-and-swap, and never removed (L1).
struct Manifest {
  std::string log_id;
  std::string origin;  ///< The id it was first made with; the chain begins there.
  Nonce nonce;         ///< New with every change, so that a lost reply can be read back.
  /// Every entry is created in one transaction with a look at this object. A number that was
  /// deleted can then never come back, so an entry that is there counts without another read.
  bool guarded = false;
  std::optional<SnapshotRef> latest;
  std::optional<SnapshotRef> previous;
  Index floor;          ///< The highest number whose deletion may have begun.
  std::string pending;  ///< The move or restore that is still filling this store; then not a log.
  std::vector<std::string> opened_by;  ///< Moves that ended here: their seals do not bind.
  std::string cluster;  ///< The name of the cluster whose log this is; empty: it has none.
  std::string unknown;
  bool operator==(const Manifest&) const = default;
};

[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
[[nodiscard]] Result<Manifest> decode_manifest(std::string_view body);

/// What a snapshot consists of.
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
/// The manifest with its floor as high as may be: at the previous snapshot, so that it and what
/// follows stay whole (L5). Nothing when it is there already.
[[nodiscard]] std::optional<Manifest> with_raised_floor(Manifest manifest);
/// A set of parts that nobody needs or will need: no newer than the latest snapshot and neither of
/// the kept ones (L6). A newer one may belong to a swap under way.
[[nodiscard]] bool is_garbage(const Manifest& manifest, Index set_index, bool kept);
/// kConflict when `now` cannot have come after `before`: another log, or one that went back.
[[nodiscard]] Status check_follows(const Manifest& before, const Manifest& now);
/// Lifts a seal whose move ended in this very store.
void lift_own_seal(Position& position, const Manifest& manifest);

}  // namespace muster::rlog
