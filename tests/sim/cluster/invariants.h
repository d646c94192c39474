#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "candidate/candidate_test_work.h"
#include "coordinator/namespace_coordinator.h"
#include "core/client/topology_cache.h"
#include "core/election/records.h"
#include "core/membership/options.h"
#include "core/routing/hash_ring.h"
#include "server/cluster_peer.h"
#include "tests/linearizability/history.h"
#include "tests/sim/cluster/reference.h"

namespace muster::sim {

/// The election of the work that candidates and campaigns are about, and everybody's lease.
inline constexpr const char* kSingleton = "job";
inline constexpr Duration kSingletonLease = 5s;

/// Everything that must hold of a cluster of musterd and of anyone who relies on it, whatever
/// happens to them.
///
/// It is shown what nobody in the simulation can see: the log as it lies in the store, every
/// server's copy after every event, and what each client sent and was told. It judges by true
/// time; `slew` is how much faster than that a clock may run.
class Invariants {
 public:
  Invariants(World& world, std::shared_ptr<SharedStore> store, const membership::Options& options,
             double slew);

  [[nodiscard]] const std::string& violation() const { return violation_; }
  void violate(std::string what);
  [[nodiscard]] Reference& reference() { return reference_; }
  /// How many epochs of the servers' leadership there were.
  [[nodiscard]] std::uint64_t terms() const { return began_.size(); }

  /// What the log decided, in its order.
  [[nodiscard]] const std::vector<std::string>& decided() const { return reference_.decided(); }

  // After every event, for every server and every worker that runs, and for the singleton.
  void begin_look() {
    leading_.clear();
    leading_worker_.clear();
  }
  void look(const std::string& server, const server::ClusterPeer& peer);
  void look(const std::string& worker, const NamespaceCoordinator& coordinator);
  void look(const WorkJournal& journal);

  // What nodes were told.
  void registration_acknowledged(const NodeId& id, const membership::Generation& generation);
  void beat_acknowledged(const NodeId& id, const membership::Generation& generation, TrueTime sent);

  /// A client was told that its term was released: its successor need not wait.
  void release_confirmed(const std::string& host, Epoch epoch);
  /// A client believes to lead, until that time unless it hears more.
  void believes(const std::string& host, Epoch epoch, TrueTime until);
  void believes_no_more(const std::string& host) { beliefs_.erase(host); }

  // What watchers of the topology were told, message by message.
  /// The services that watchers ask for: all, one without a type, and those with a type.
  static constexpr std::array<const char*, 3> kWatched{"*", "search", ""};
  void watch_began(const std::string& watcher, const std::string& services, TopologyVersion since);
  void watch_heard(const std::string& watcher, const client::TopologyUpdate& update);
  void view_shown(const std::string& watcher, const client::TopologyView& view);

  // What watchers of the store were told. `revision` is where the watch stands afterwards.
  struct StoreEvent {
    std::uint64_t revision;
    std::string key;
    std::optional<std::string> value;  ///< None: removed.
    bool operator==(const StoreEvent&) const = default;
  };
  void store_watch_began(const std::string& watcher, std::uint64_t after);
  void store_watch_heard(const std::string& watcher, const std::vector<StoreEvent>& events,
                         bool reset, std::uint64_t revision);

  // What clients of the store were told, judged at the end.
  [[nodiscard]] history::History& history() { return history_; }
  void write_acknowledged(const std::string& key, const std::string& value,
                          const Revision& revision);
  void judge_history();

  /// What there is to see long after everything healed.
  struct Calm {
    bool server_leads = false;
    TrueTime last_write{0};                      ///< Acknowledged to anybody.
    std::map<std::string, TrueTime> last_reads;  ///< By client.
    std::map<std::string, TopologyVersion> watchers;
    std::vector<NodeId> living;          ///< Their agents have registered them.
    std::optional<bool> singleton_runs;  ///< None: there is no candidate.
    std::optional<bool> worker_leads;    ///< None: there is no worker.
  };
  void judge_calm(const Calm& calm);

 private:
  struct Beat {
    TrueTime sent;
    TrueTime acknowledged;
  };
  struct Known {
    membership::NodeState state = membership::NodeState::kUnknown;
    membership::Generation generation;
    std::uint32_t weight = 1;
    bool drain_requested = false;
    std::string service;
    membership::Tags tags;
    bool operator==(const Known&) const = default;
  };
  struct Shown {
    bool changed = true;       ///< Who watches these services is told of the version.
    std::uint64_t nodes = 0;   ///< A digest of all of them.
    std::uint64_t owners = 0;  ///< A digest of who holds some keys.
  };
  struct Version {
    membership::EventKind kind;
    NodeId node;
    std::map<std::string, Shown> shown;  ///< By what is watched.
  };
  struct Down {
    NodeId node;
    Epoch epoch;
    TrueTime at;
  };

  // The log, in its order.
  void entry(const Committed& entry);
  void command(const Committed& entry, const cluster::Command& command,
               const cluster::Applied& applied);
  void judged_silent(const Committed& entry, const membership::Observation& seen, bool down);
  void brake(const Committed& entry, const NodeId& node);
  void topology_event(const membership::Event& event);
  void singleton_written(const Committed& entry, const LeaderState& state);
  void ring_changed(const std::string& service, const NodeId& node, bool entered);
  /// Of the nodes of that service; empty: of those with a type.
  [[nodiscard]] HashRing make_ring(const std::string& service) const;
  [[nodiscard]] Shown show(const std::string& watched, bool changed);
  /// The first version after `at` that those who watch these services are told of; none yet: 0.
  [[nodiscard]] std::uint64_t next_version(const std::string& watched, std::uint64_t at) const;
  [[nodiscard]] Known known(const NodeId& id) const;
  [[nodiscard]] bool in_ring(const NodeId& id) const;

  World& world_;
  membership::Options options_;
  double slew_;
  std::string violation_;

  std::map<std::string, Epoch> leading_;            ///< By server, at this moment.
  std::string leading_worker_;                      ///< At this moment.
  std::map<Epoch, std::string> led_by_;             ///< The server that led each epoch.
  std::map<Epoch, Incarnation> written_by_;         ///< The incarnation that wrote each epoch.
  std::map<Epoch, TrueTime> began_;                 ///< When the barrier of each epoch was in.
  std::map<std::string, std::uint64_t> looked_at_;  ///< By server: the index compared last.

  struct Belief {
    Epoch epoch;
    TrueTime until;
  };
  std::map<std::string, Belief> beliefs_;  ///< By client.
  /// When the state of each term of the singleton was last written.
  std::map<Epoch, TrueTime> singleton_written_;
  std::map<NodeId, Known> nodes_;               ///< By the events so far.
  std::set<NodeId> drained_;                    ///< By an operator, and not undrained.
  std::map<NodeId, std::uint64_t> heartbeats_;  ///< As of the command before.
  std::size_t nodes_max_ = 0;
  std::map<NodeId, std::map<membership::Generation, std::deque<Beat>>> beats_;
  /// The how-manieth registration of the log each generation is.
  std::map<membership::Generation, std::uint64_t> registrations_;
  /// The latest of a node's that its process was told of, and when.
  std::map<NodeId, std::pair<std::uint64_t, TrueTime>> registered_;
  std::vector<Down> downs_;
  std::vector<Version> versions_{1};  ///< By number; 0 is the empty topology.
  RingConfig ring_config_;
  std::map<std::string, HashRing> rings_{{"", {}}, {"search", {}}};  ///< As make_ring() makes them.

  struct Watching {
    std::string services;
    TopologyVersion at;
    bool full_sync_due = false;
  };
  std::map<std::string, Watching> watching_;
  std::vector<StoreEvent> store_events_;
  std::map<std::string, std::optional<std::uint64_t>> store_watching_;  ///< None: not yet greeted.
  history::History history_;
  Reference reference_;
};

}  // namespace muster::sim
