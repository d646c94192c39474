#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "core/cluster/cluster_state.h"
#include "core/membership/service_filter.h"
#include "rpc/call.h"

namespace muster::server {

/// Sends every change of the topology to all watchers, each those of the services that it watches.
///
/// A watcher is a position in one shared history: it gets the changes after its position, one
/// message at a time, as fast as it reads. So a message for many is made once, a slow watcher
/// costs no memory, and a gap cannot happen: a watcher that the history has overtaken gets
/// `lagged` and the whole topology. The history is bounded in changes and in bytes. A change that a
/// watcher does not see moves its position; the next message still continues from the version that
/// its client has. Threads: loop thread only.
class TopologyHub {
 public:
  struct Options {
    std::size_t history_events = 4096;
    std::size_t history_bytes = 8 * 1024 * 1024;
    Duration keepalive = 30s;
    /// A watcher has fallen behind.
    std::function<void()> on_lagged{};
  };
  /// The whole topology of those services as a full_sync update.
  using FullSync = std::function<rpc::Payload(const membership::ServiceFilter&)>;

  TopologyHub(Loop& loop, const cluster::ClusterState& state, FullSync full_sync, Options options);
  ~TopologyHub();

  /// Takes over a call that asks for everything after `since`; 0 means everything.
  void watch(const rpc::CallPtr& call, std::uint64_t since,
             membership::ServiceFilter services = {});

  /// After each entry: what it changed.
  void publish(const std::vector<membership::Event>& events);
  /// After the whole state was replaced.
  void reset();
  /// Ends all watches, so that their clients go elsewhere at once.
  void close();

  [[nodiscard]] std::size_t watchers() const { return watchers_.size(); }
  /// The number of versions not yet sent to the slowest watcher.
  [[nodiscard]] std::uint64_t lag() const;

 private:
  struct Service {
    membership::NodeType type;
    std::string name;  ///< Empty: the type is its name.
  };
  struct Change {
    std::uint64_t version = 0;
    std::uint64_t previous_version = 0;
    std::size_t head_bytes = 0;  ///< Of a message: its two versions.
    rpc::Payload update{};
    std::optional<Service> service{};  ///< Of the node; none: the change concerns all services.
    /// If the node has moved to that service: the one before, and the messages for those who watch
    /// only one of the two.
    std::optional<Service> before{};
    rpc::Payload removed{};
    rpc::Payload added{};

    [[nodiscard]] std::size_t bytes() const {
      return update->size() + (before ? removed->size() + added->size() : 0);
    }
  };
  struct Full {
    rpc::Payload update;
    std::uint64_t version = 0;
    MonoTime made{};
  };
  struct Watcher;
  using Shared = std::shared_ptr<Watcher>;
  struct ByConnection {
    bool operator()(const Shared& a, const Shared& b) const;
  };

  /// Serves all watchers, a few at a time: thousands of writes would keep the loop from its timers.
  /// One round ends before the next begins; otherwise the last watchers would never get their turn.
  void pump_all();
  void pump_next();
  /// False: nothing is due.
  bool pump(const Shared& watcher);
  [[nodiscard]] static Change describe(const membership::Event& event,
                                       const membership::Topology& topology);
  /// Null: a client with this filter does not see the change.
  [[nodiscard]] static rpc::Payload message(const Change& change,
                                            const membership::ServiceFilter& services);
  void send_change(const Shared& watcher, const Change& change, const rpc::Payload& message);
  void send(const Shared& watcher, rpc::Payload update, std::uint64_t version);
  void send_lagged(const Shared& watcher);
  void send_full(const Shared& watcher);
  void send_keepalive(const Shared& watcher);
  void stay_in_touch(const Shared& watcher);
  void forget_old();
  [[nodiscard]] std::uint64_t version() const { return state_.topology().version().value(); }
  /// The version that the oldest change in the history continues from.
  [[nodiscard]] std::uint64_t reaches_back_to() const;

  Loop& loop_;
  const cluster::ClusterState& state_;
  FullSync full_sync_;
  Options options_;
  std::deque<Change> history_;  ///< Without gaps, up to the version of the state.
  std::size_t history_bytes_ = 0;
  /// Watchers of one connection are adjacent, so that their messages are sent together.
  std::set<Shared, ByConnection> watchers_;
  std::vector<std::weak_ptr<Watcher>> due_;  ///< Those that pump_all() has yet to serve.
  bool again_ = false;                       ///< Something has changed since it began.
  Timer due_timer_;
  /// The last ones made, good for all who ask within a moment; by the text of the filter.
  std::map<std::string, Full> full_;
};

}  // namespace muster::server
