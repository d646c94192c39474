#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/cluster/decision_log.h"
#include "core/cluster/verdict.h"
#include "core/membership/node.h"
#include "server/web/series.h"

/// A server's view of itself, as plain data: made on the loop, then passed to the thread that
/// answers HTTP, which may take its time.
namespace muster::server {

struct NodeRow {
  std::string id;
  membership::NodeType type{};
  std::string address;
  std::uint32_t port = 0;
  membership::NodeState state{};
  std::string generation;
  membership::Slot slot = 0;
  std::uint32_t flaps = 0;
  WallTime registered_at{};
  WallTime state_since{};
  /// By log time, which no wall clock moves, when the row was made.
  Duration heartbeat_age{};
  Duration state_age{};
  std::uint32_t weight = 1;
  std::string service{};  ///< Empty if `type` says it; see service_of().
  membership::Tags tags{};
};
[[nodiscard]] inline std::string_view service_of(const NodeRow& row) {
  return membership::service_of(row.type, row.service);
}
/// Sorted by id.
using NodeRows = std::shared_ptr<const std::vector<NodeRow>>;

struct ServerRow {
  std::string id;
  std::string address;
  std::string role;  ///< leader, follower, unreachable, or unknown.
  std::optional<std::uint64_t> applied_index;
  std::optional<std::uint64_t> lag_entries;
  /// Without an applied index: the minimum time of its silence.
  std::optional<Duration> last_seen;
  std::string version;
};

struct LeaderRow {
  std::string id;
  std::string address;
  std::uint64_t epoch = 0;
  WallTime since{};
  std::string why;
};

struct NamespaceRow {
  std::string name;
  std::string leader;  ///< Empty: no leader.
  std::uint64_t epoch = 0;
  Duration lease_left{0};  ///< By log time, for people only.
  std::size_t workers = 0;
  WallTime since{};
};

struct Overview {
  std::string server;
  std::uint64_t version = 0;
  Duration stale{0};
  std::optional<LeaderRow> leader;
  std::string engine;
  std::string engine_health;
  std::uint64_t log_head = 0;
  std::string log_id;
  std::vector<ServerRow> servers;
  std::map<membership::NodeState, std::size_t> counts;
  std::size_t nodes = 0;
  std::size_t watchers = 0;
  cluster::Verdict verdict;
  WallTime now{};
};

/// The parts of the picture to be made.
struct Query {
  bool nodes = false;
  bool namespaces = false;
  bool metrics = false;                ///< Sets the gauges: they are read right after.
  bool flush = false;                  ///< Everything so far has been sent to the listeners first.
  std::optional<std::string> about{};  ///< The decisions about this subject.
  struct Range {
    std::optional<std::uint64_t> since;  ///< None: the newest.
    std::size_t limit = 0;
  };
  std::optional<Range> decisions{};
  Duration series{0};
};

struct Picture {
  Overview overview;
  membership::RingConfig ring;
  NodeRows nodes{};
  std::uint64_t nodes_version =
      0;  ///< Of the topology that `nodes` shows; the newest may be later.
  std::vector<NamespaceRow> namespaces{};
  std::vector<cluster::DecisionLog::Entry> decisions{};
  std::uint64_t oldest_decision = 0;  ///< From here on there are all of them.
  std::uint64_t newest_decision = 0;
  std::vector<Sample> series{};
};
using PicturePtr = std::shared_ptr<const Picture>;

/// The changes since the last update, for listeners.
struct Update {
  std::uint64_t version = 0;
  std::vector<NodeRow> upserts{};
  std::vector<std::string> removed{};
  std::vector<cluster::DecisionLog::Entry> decisions{};
  std::optional<Overview> overview{};
  std::optional<Sample> sample{};
  bool reset = false;  ///< The whole state was replaced: ask for everything again.
  WallTime now{};
};
using UpdatePtr = std::shared_ptr<const Update>;

}  // namespace muster::server
