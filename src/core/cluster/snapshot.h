#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/cluster/cluster_state.h"

namespace muster::cluster {

/// A cluster's state at one moment, in parts of bounded size, while the state goes on changing.
/// Making this costs some nanoseconds per node, each part about a millisecond, and data that
/// changes while it is held is copied once. Parts are in the protobuf wire format; unknown fields
/// survive. Threads: that of the state.
class SnapshotParts {
 public:
  explicit SnapshotParts(ClusterState& state, std::size_t part_bytes = 256 * 1024);

  /// The next part; none after the last.
  [[nodiscard]] std::optional<std::string> next();

 private:
  std::size_t part_bytes_;
  std::string header_;  ///< All single items; empty once it was returned.
  std::vector<std::pair<std::string, ServerEntry>> servers_;
  std::size_t next_server_ = 0;
  std::vector<std::pair<NodeId, TopologyVersion>> drains_;
  std::size_t next_drain_ = 0;
  std::vector<std::shared_ptr<const membership::NodeEntry>> nodes_;
  std::size_t next_node_ = 0;
  std::vector<DecisionLog::Entry> decisions_;
  std::size_t next_decision_ = 0;
  std::unique_ptr<VersionedKv::Image> kv_;
  std::optional<std::pair<std::string, KvEntry>> next_key_;
};

/// Assembles parts in the order in which they were made. kCorrupt if they do not fit together,
/// kUnsupported if a newer server wrote them.
class SnapshotAssembler {
 public:
  Status add(std::string_view part);
  /// Returns the state; add nothing afterwards.
  [[nodiscard]] Result<ClusterState> finish();

 private:
  Status add_header(std::string_view bytes);
  Status add_key(std::string_view bytes);
  Status add_server(std::string_view bytes);
  Status add_decision(std::string_view bytes);

  bool begun_ = false;
  membership::TopologySnapshot topology_;
  KvRevision kv_revision_ = 0;
  ClusterState state_;
};

}  // namespace muster::cluster
