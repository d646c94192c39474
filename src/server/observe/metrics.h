#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "candidate/telemetry.h"
#include "core/cluster/decision.h"
#include "core/membership/node.h"
#include "rpc/breach.h"
#include "rpc/status.h"

namespace muster::server {

/// What a server measures. Counters and histograms are told of things as they happen; gauges are
/// set from the state right before they are read, so that they never disagree with it.
///
/// Every label has few values: methods are those of the contract, nodes and clients are no labels.
/// Telling is for the loop thread; reading for any.
class Metrics {
  prometheus::Registry registry_;  // First: everything else lives in it.

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
  void http_answered(int status);

  prometheus::Counter& heartbeats;
  prometheus::Counter& proposals;
  prometheus::Counter& refusals;
  prometheus::Counter& commits;
  prometheus::Counter& leader_changes;
  prometheus::Counter& displaced;
  prometheus::Counter& epoch_drift;
  prometheus::Counter& watch_lagged;
  prometheus::Counter& suspicions;
  prometheus::Counter& log_suppressed;
  prometheus::Counter& log_lost;

  /// What gauges are set from.
  struct Levels {
    std::uint64_t topology_version = 0;
    std::map<std::string, double> nodes_by_type;
    std::map<std::string, double> nodes_by_state;
    double nodes_damped = 0;
    double held_by_grace = 0;
    double held_by_brake = 0;
    double watchers = 0;
    double watch_lag = 0;
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
    double crl_failures = 0;
  };
  void set(const Levels& levels);

  /// In Prometheus' text format.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<prometheus::MetricFamily> families() const;

 private:
  struct Method {
    prometheus::Histogram* seconds = nullptr;
    std::map<int, prometheus::Counter*> codes;
  };

  prometheus::Gauge& gauge(const std::string& name, const std::string& help);
  prometheus::Counter& counter(const std::string& name, const std::string& help);
  prometheus::Family<prometheus::Counter>& counters(const std::string& name,
                                                    const std::string& help);
  prometheus::Family<prometheus::Gauge>& gauges(const std::string& name, const std::string& help);
  prometheus::Family<prometheus::Histogram>& histograms(const std::string& name,
                                                        const std::string& help);

  prometheus::Family<prometheus::Counter>& rpc_requests_;
  prometheus::Family<prometheus::Histogram>& rpc_seconds_;
  prometheus::Family<prometheus::Counter>& store_requests_;
  prometheus::Family<prometheus::Histogram>& store_seconds_;
  prometheus::Counter& became_leader_;
  prometheus::Family<prometheus::Counter>& lost_leadership_;
  prometheus::Family<prometheus::Counter>& leader_down_;
  prometheus::Counter& election_checks_;
  prometheus::Family<prometheus::Counter>& transitions_;
  prometheus::Family<prometheus::Counter>& decisions_;
  prometheus::Family<prometheus::Counter>& rejections_;
  prometheus::Family<prometheus::Counter>& cuts_;
  prometheus::Family<prometheus::Counter>& http_requests_;
  prometheus::Histogram& batch_size_;
  prometheus::Histogram& commit_seconds_;
  prometheus::Histogram& election_seconds_;
  prometheus::Family<prometheus::Gauge>& nodes_by_state_;
  prometheus::Family<prometheus::Gauge>& nodes_held_;
  prometheus::Family<prometheus::Gauge>& role_;
  prometheus::Gauge& topology_version_;
  prometheus::Gauge& object_nodes_;
  prometheus::Gauge& metadata_nodes_;
  prometheus::Gauge& frontend_nodes_;
  prometheus::Gauge& nodes_damped_;
  prometheus::Gauge& watchers_;
  prometheus::Gauge& watch_lag_;
  prometheus::Gauge& event_streams_;
  prometheus::Gauge& calls_open_;
  prometheus::Gauge& connections_open_;
  prometheus::Gauge& term_;
  prometheus::Gauge& head_;
  prometheus::Gauge& applied_;
  prometheus::Gauge& staleness_;
  prometheus::Gauge& lease_left_;
  prometheus::Gauge& decisions_kept_;
  prometheus::Family<prometheus::Gauge>& certificate_left_;
  prometheus::Family<prometheus::Gauge>& crl_age_;
  prometheus::Family<prometheus::Gauge>& crl_term_;
  prometheus::Family<prometheus::Gauge>& crl_left_;
  prometheus::Counter& crl_failures_;
  prometheus::Gauge& tls_;
  std::map<std::string, prometheus::Histogram*> store_answered_;
  std::unordered_map<std::string, Method> methods_;  ///< Those of the contract, and "other".
};

}  // namespace muster::server
