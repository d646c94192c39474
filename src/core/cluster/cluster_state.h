#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/cluster/commands.h"
#include "core/cluster/decision_log.h"
#include "core/cluster/versioned_kv.h"
#include "core/membership/topology.h"

namespace muster::cluster {

/// The maximum number of known servers. The leader admits no more; operators remove servers that
/// are gone for good.
inline constexpr std::size_t kServersMax = 1000;

/// A server as it announced itself.
struct ServerEntry {
  std::string address;
  std::string version;
  std::uint64_t level = 1;  ///< Of the commands that it supports.
  LogTime announced_at{};
  std::string unknown;
  bool operator==(const ServerEntry&) const = default;
};

/// The position of a command in the log.
struct Place {
  std::uint64_t index = 0;   ///< Of its entry.
  std::size_t position = 0;  ///< Within the entry.
  LogTime time{};            ///< The entry's.
};

/// The answer of an accepted command to its proposer.
struct Answer {
  TopologyVersion version;
  membership::Outcome outcome;
  KvRevision revision = 0;  ///< Of the change of the store, if it was one.
  std::uint64_t index = 0;  ///< Of the entry that held the command.
};

/// The leader of the servers, by the log.
struct Leadership {
  std::string server{};  ///< Empty: there was no leader yet.
  std::uint64_t epoch = 0;
  LogTime since{};
  std::string resigned{};  ///< Why it hands over; empty while it does not.
  bool operator==(const Leadership&) const = default;
};

struct Applied {
  Result<Answer> answer;                  ///< An error: refused, and nothing has changed.
  std::vector<membership::Event> events;  ///< Of the topology.
};

/// The state shared by all servers of a cluster: the topology, the versioned store, the servers'
/// addresses, and the log of decisions. The same commands at the same places give the same state
/// and answers on every server. Pure: the caller passes the time; no I/O, no locks. Threads: one.
class ClusterState {
 public:
  /// An error is not a refusal but the end: this server cannot read the command and must stop,
  /// because the others have applied it (kUnsupported, kCorrupt).
  Result<Applied> apply(std::string_view command, const Place& place);

  /// Call for every entry of the log, before its commands.
  void pass_time(LogTime time, WallTime wall) { topology_.pass_time(time, wall); }
  /// Call for the first entry of a term.
  void begin_term(const std::string& server, Epoch epoch, LogTime time, WallTime wall);

  [[nodiscard]] const membership::Topology& topology() const { return topology_; }
  [[nodiscard]] const VersionedKv& kv() const { return kv_; }
  [[nodiscard]] VersionedKv& kv() { return kv_; }
  /// The keys that name the leader of an election, with its name; a prefix precedes the name.
  [[nodiscard]] const std::map<std::string, std::string>& elections() const { return elections_; }
  [[nodiscard]] const std::map<std::string, ServerEntry>& servers() const { return servers_; }
  [[nodiscard]] const Leadership& leadership() const { return leadership_; }
  /// The decisions and their causes.
  [[nodiscard]] const DecisionLog& decisions() const { return decisions_; }
  /// Null if it has not announced itself.
  [[nodiscard]] const ServerEntry* server(const std::string& id) const;

 private:
  friend class SnapshotAssembler;

  Result<Answer> on(const ChangeTopology& command, const Place& place,
                    std::vector<membership::Event>& events);
  Result<Answer> on(const StorePut& command, const Place& place);
  Result<Answer> on(const StoreRemove& command, const Place& place);
  Result<Answer> on(const AnnounceServer& command, const Place& place);
  Result<Answer> on(const ForgetServer& command, const Place& place);
  Result<Answer> on(const Note& command, const Place& place);
  [[nodiscard]] std::optional<Decision> describe_put(const StorePut& put, LogTime now) const;
  void decide(Decision&& decision, LogTime at);
  void index(const std::string& key);

  membership::Topology topology_;
  VersionedKv kv_;
  std::map<std::string, std::string> elections_;
  std::map<std::string, ServerEntry> servers_;
  Leadership leadership_;
  DecisionLog decisions_;
};

}  // namespace muster::cluster
