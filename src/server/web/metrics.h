#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "base/time.h"
#include "candidate/telemetry.h"
#include "core/cluster/decision.h"
#include "core/membership/node.h"
#include "rpc/breach.h"
#include "rpc/status.h"
#include "server/web/metric_registry.h"

namespace muster::server {

/// The metrics of a server. Counters and histograms are updated as things happen; gauges are set
/// from the state right before they are read, so that they never disagree with it.
///
/// Every label has few values: methods are those of the contract; nodes and clients are never
/// labels. Threads: any may count HTTP answers and call text(); everything else is for the loop
/// thread.
class Metrics {
  MetricRegistry registry_;  // First: everything else lives in it.

 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // As it happens.
  void rpc_ended(const std::string& method, rpc::Code code, Duration took, bool stream);
  void store_answered(const char* operation, const std::string& outcome, Duration took);
  void transition(membership::NodeState from, membership::NodeState to);
  void decided(cluster::DecisionKind kind);
  void batch(std::size_t beats);
  void committed(Duration took);
  void elected(Duration took);
  /// Of the servers' own election, under the names that `muster run` counts its own by. Whether
  /// it is one of the four that are counted.
  bool election(const telemetry::Event& event);
  void rejected(const std::string& reason);
  void cut(rpc::Breach breach);
  /// `path`: of the few that path_class() knows.
  void http_answered(const char* path, int status);

  Counter& heartbeats;
  Counter& proposals;
  Counter& refusals;
  Counter& commits;
  Counter& leader_changes;
  Counter& displaced;
  Counter& epoch_drift;
  Counter& watch_lagged;
  Counter& suspicions;
  Counter& terms_granted;
  Counter& terms_resumed;
  Counter& locks_taken;
  Counter& locks_resumed;
  Counter& locks_lost;
  Counter& log_suppressed;
  Counter& log_lost;

  /// What gauges are set from.
  struct Levels {
    std::uint64_t topology_version = 0;
    std::map<std::string, double> nodes_by_service;
    std::map<std::string, double> nodes_by_state;
    double nodes_damped = 0;
    double held_by_grace = 0;
    double held_by_brake = 0;
    double watchers = 0;
    double watch_lag = 0;
    double campaigns = 0;
    double campaigns_leading = 0;
    double locks_held = 0;
    double locks_waited_for = 0;
    double event_streams = 0;
    double calls_open = 0;
    double connections_open = 0;
    double term = 0;
    std::string role;  ///< leader, follower or candidate.
    double head_index = 0;
    double applied_index = 0;
    double staleness_s = 0;
    double lease_left_s = 0;
    double decisions = 0;
    /// None in plaintext, or without a list.
    std::optional<double> certificate_left_s;
    std::optional<double> crl_age_s;
    std::optional<double> crl_term_s;
    std::optional<double> crl_left_s;
    std::uint64_t crl_failures = 0;
  };
  void set(const Levels& levels);

  /// In Prometheus' text format.
  [[nodiscard]] std::string text() const;

 private:
  struct Method {
    Buckets* seconds = nullptr;
    std::map<int, Counter*> codes;
  };

  /// Services with samples of their own; the others are counted together.
  static constexpr std::size_t kServicesMax = 1000;

  void set_services(const std::map<std::string, double>& nodes);
  Gauge& gauge(const std::string& name, const std::string& help);
  Counter& counter(const std::string& name, const std::string& help);
  Buckets& seconds(const std::string& name, const std::string& help);

  Family<Counter>& rpc_requests_;
  Family<Buckets>& rpc_seconds_;
  Family<Counter>& store_requests_;
  Family<Buckets>& store_seconds_;
  Counter& became_leader_;
  Family<Counter>& lost_leadership_;
  Family<Counter>& leader_down_;
  Counter& election_checks_;
  Family<Counter>& transitions_;
  Family<Counter>& decisions_;
  Family<Counter>& rejections_;
  Family<Counter>& cuts_;
  Family<Counter>& http_requests_;
  Buckets& batch_size_;
  Buckets& commit_seconds_;
  Buckets& election_seconds_;
  Family<Gauge>& nodes_by_state_;
  Family<Gauge>& nodes_by_service_;
  Family<Gauge>& nodes_held_;
  Family<Gauge>& role_;
  Gauge& topology_version_;
  Gauge& object_nodes_;
  Gauge& metadata_nodes_;
  Gauge& frontend_nodes_;
  Gauge& nodes_damped_;
  Gauge& watchers_;
  Gauge& watch_lag_;
  Family<Gauge>& campaigns_;
  Family<Gauge>& lock_sessions_;
  Gauge& event_streams_;
  Gauge& calls_open_;
  Gauge& connections_open_;
  Gauge& term_;
  Gauge& head_;
  Gauge& applied_;
  Gauge& staleness_;
  Gauge& lease_left_;
  Gauge& decisions_kept_;
  Family<Gauge>& certificate_left_;
  Family<Gauge>& crl_age_;
  Family<Gauge>& crl_term_;
  Family<Gauge>& crl_left_;
  Counter& crl_failures_;
  Gauge& tls_;
  std::map<std::string, Buckets*> store_answered_;
  std::unordered_map<std::string, Method> methods_;  ///< Those of the contract, and "other".
};

}  // namespace muster::server
