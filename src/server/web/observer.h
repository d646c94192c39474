#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "core/cluster/verdict.h"
#include "core/membership/failure_detector.h"
#include "core/membership/options.h"
#include "server/cluster/leader_view.h"
#include "server/cluster/replicated_state.h"
#include "server/cluster/sighting.h"
#include "server/web/metrics.h"
#include "server/web/picture.h"
#include "server/web/series.h"

namespace muster::server {

/// Observes a server from inside: makes pictures of it, reports changes to listeners, and keeps the
/// metrics and the data of the charts. It changes nothing. Threads: loop thread only.
class Observer {
 public:
  /// The parts to observe, once there is a state.
  struct Subject {
    const ReplicatedState* replica = nullptr;
    std::function<LeaderView()> leader;
    std::function<std::size_t()> watchers;
    std::function<std::uint64_t()> watch_lag;
    std::function<Duration()> lease_left;
    std::function<membership::Verdict()> held;
    /// Every server's last sign of life, where this one knows.
    std::function<std::map<std::string, Sighting>()> sightings;
    /// What the engine's store said last, while it fails; empty otherwise.
    std::function<std::string()> engine_trouble{};
    /// The clients that campaign through this server, and those of them that lead.
    std::function<std::size_t()> campaigns{};
    std::function<std::size_t()> campaigns_leading{};
    /// The sessions of clients that hold a lock here, and those that wait for one.
    std::function<std::size_t()> locks_held{};
    std::function<std::size_t()> locks_waited_for{};
  };
  struct Options {
    std::string server;
    std::string engine;  ///< file, etcd, managed or s3.
    membership::Options membership;
    /// The health of the engine, in words; empty: as far as the log can tell.
    std::function<std::string()> engine_health{};
    /// The engine's trouble; empty: none known.
    std::function<std::string()> engine_trouble{};
    /// Values that only the server knows: calls and connections; certificate and revocation list,
    /// if there are any.
    std::function<void(Metrics::Levels&)> levels{};
    /// Why the server refuses every certificate; empty if it does not.
    std::function<std::string()> refuses_all{};
  };

  Observer(Loop& loop, Metrics& metrics, Options options);

  /// The state can be looked at; it stays until release().
  void attach(Subject subject);
  void release(std::string why);
  /// The server was asked to stop: from now on that is the verdict, whatever fails on the way.
  void stopping() { stopping_ = true; }
  /// Why there is nothing to observe yet.
  void waiting(std::string why) { not_ready_ = std::move(why); }

  // From the server, as it happens.
  void applied(const std::vector<membership::Event>& events);
  void reloaded();
  void heartbeat_answered(Duration took) { series_.heartbeat(took); }
  void batch_written(std::size_t beats);

  /// Whether this server is healthy, and why not. All health reports use this.
  [[nodiscard]] cluster::Verdict verdict() const;
  [[nodiscard]] Picture look(const Query& query);
  /// Updates go there, at most four a second, while there are listeners.
  void listen(std::function<void(UpdatePtr)> listener) { listener_ = std::move(listener); }
  void set_listeners(std::size_t count);

  [[nodiscard]] Metrics& metrics() { return metrics_; }

 private:
  [[nodiscard]] Overview overview() const;
  [[nodiscard]] std::vector<ServerRow> servers(const LeaderView& leader) const;
  [[nodiscard]] std::vector<NamespaceRow> namespaces() const;
  [[nodiscard]] NodeRows rows();
  void set_levels();
  void flush();
  void flush_later();
  void tick();
  void sample();

  Loop& loop_;
  Metrics& metrics_;
  Options options_;
  std::optional<Subject> subject_;
  bool stopping_ = false;
  std::string not_ready_ = "this server is starting its engine";
  std::function<void(UpdatePtr)> listener_;
  std::size_t listeners_ = 0;
  Series series_;
  std::uint64_t told_ = 0;  ///< The last decision that was counted and sent.
  std::map<std::string, std::optional<NodeRow>> changed_;  ///< None: removed.
  std::vector<cluster::DecisionLog::Entry> decided_;       ///< Not sent yet.
  bool reset_ = false;
  NodeRows rows_;  ///< The last ones made, good for a moment.
  MonoTime rows_made_{};
  std::uint64_t rows_version_ = 0;
  Timer flush_timer_;
  Timer tick_timer_;
  Timer sample_timer_;
};

}  // namespace muster::server
