#include "server/web/metrics.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "core/security/permissions.h"
#include "server/web/build_info.h"

namespace muster::server {
namespace {

constexpr const char* kOther = "other";
const std::vector<double> kSeconds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                   0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
const std::vector<double> kBeats{1,   2,   5,    10,   25,   50,    100,
                                 250, 500, 1000, 2500, 5000, 10000, 50000};

double in_seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

/// "StoreService/Get"
std::string short_name(std::string_view method) {
  const auto dot = method.rfind('.');
  return std::string(dot == method.npos ? method : method.substr(dot + 1));
}

/// What may be asked for over gRPC.
std::vector<std::string> known_methods() {
  std::vector<std::string> names;
  for (const security::Permission& each : security::permissions()) {
    if (each.name.starts_with("/muster.")) names.emplace_back(each.name);
  }
  return names;
}

}  // namespace

Metrics::Metrics()
    : heartbeats(counter("coordinator_heartbeats_total",
                         "Heartbeats that this server received as "
                         "leader")),
      proposals(counter("coordinator_raft_proposals_total", "Commands proposed to the log")),
      refusals(counter("muster_log_refusals_total",
                       "Commands proposed and not applied, or with unknown outcome")),
      commits(counter("coordinator_raft_commits_total", "Entries of the log applied here")),
      leader_changes(counter("muster_leader_changes_total",
                             "Leader changes of the servers seen "
                             "here")),
      displaced(counter("muster_displaced_total",
                        "Terms of this server ended by another server's log entry")),
      epoch_drift(counter("muster_epoch_drift_total",
                          "Times that the log held a higher epoch than this server's term")),
      watch_lagged(counter("muster_watch_lagged_total",
                           "Watchers that fell behind and were sent the whole topology again")),
      suspicions(counter("muster_suspicions_total", "Nodes that became SUSPECT")),
      terms_granted(counter("muster_campaign_terms_granted_total",
                            "Terms of clients that began at this server")),
      terms_resumed(counter("muster_campaign_terms_resumed_total",
                            "Terms of clients that went on at this server after another stream")),
      locks_taken(counter("muster_lock_taken_total", "Locks that clients took at this server")),
      locks_resumed(counter("muster_lock_resumed_total",
                            "Locks of clients that went on at this server after another one")),
      locks_lost(counter("muster_lock_lost_total",
                         "Locks of clients that were not released and not renewed in time")),
      log_suppressed(counter("muster_log_lines_suppressed_total",
                             "Log lines omitted because of recent lines with the same message")),
      log_lost(counter("muster_log_lines_lost_total",
                       "Log lines dropped because standard error was not read")),
      rpc_requests_(registry_.counters("muster_rpc_requests_total",
                                       "Calls that ended, by method and code", {"code", "method"})),
      rpc_seconds_(registry_.histograms("muster_rpc_duration_seconds",
                                        "Duration of unary calls, by method", {"method"},
                                        kSeconds)),
      store_requests_(registry_.counters("muster_store_requests_total",
                                         "Requests to the engine, by operation and outcome",
                                         {"operation", "outcome"})),
      store_seconds_(registry_.histograms("muster_store_request_duration_seconds",
                                          "Duration of requests to the engine, by operation",
                                          {"operation"}, kSeconds)),
      became_leader_(counter("muster_candidate_became_leader_total", "Terms begun on this server")),
      lost_leadership_(registry_.counters("muster_candidate_lost_leadership_total",
                                          "Terms ended on this server, by reason", {"reason"})),
      leader_down_(registry_.counters("muster_candidate_leader_down_total",
                                      "Terms of other servers seen to end, by cause", {"cause"})),
      election_checks_(
          counter("muster_candidate_election_checks_total", "Checks which server leads")),
      transitions_(registry_.counters("muster_node_transitions_total", "Changes of a node's state",
                                      {"from", "to"})),
      decisions_(
          registry_.counters("muster_decisions_total", "Decisions recorded, by kind", {"kind"})),
      rejections_(registry_.counters("coordinator_rate_limit_rejected_total",
                                     "Requests and connections refused by a limit, by reason",
                                     {"reason"})),
      cuts_(registry_.counters("muster_connections_cut_total",
                               "Connections closed because their clients flooded them, by limit",
                               {"limit"})),
      http_requests_(registry_.counters("muster_http_requests_total",
                                        "HTTP requests answered, by kind of path and status",
                                        {"path", "status"})),
      batch_size_(
          registry_
              .histograms("coordinator_heartbeat_batch_size", "Heartbeats in one entry", {}, kBeats)
              .with({})),
      commit_seconds_(seconds("muster_log_commit_duration_seconds",
                              "Time from the proposal of a command to its application")),
      election_seconds_(seconds("muster_election_duration_seconds",
                                "Time from campaigning to leading, on this server")),
      nodes_by_state_(registry_.gauges("coordinator_nodes_by_state", "Nodes by state", {"state"})),
      nodes_by_service_(registry_.gauges(
          "coordinator_nodes_by_service",
          "Nodes by service; beyond 1000 services, the others together as \"other\"", {"service"})),
      nodes_held_(registry_.gauges("muster_nodes_held",
                                   "Silent nodes not marked DOWN yet, by cause", {"by"})),
      role_(registry_.gauges("muster_raft_role", "1 for the role of this server", {"role"})),
      topology_version_(gauge("coordinator_topology_version", "Version of the topology")),
      object_nodes_(gauge("coordinator_object_nodes_total", "Object nodes registered")),
      metadata_nodes_(gauge("coordinator_metadata_nodes_total", "Metadata nodes registered")),
      frontend_nodes_(gauge("coordinator_frontend_nodes_total", "Frontend nodes registered")),
      nodes_damped_(gauge("muster_nodes_damped", "Flapping nodes, whose timeouts are doubled")),
      watchers_(gauge("coordinator_watch_connections", "Watches of the topology")),
      watch_lag_(
          gauge("muster_watch_lag_versions", "Versions not yet sent to the slowest watcher")),
      campaigns_(registry_.gauges(
          "muster_campaigns", "Clients that campaign through this server, by state", {"state"})),
      lock_sessions_(registry_.gauges("muster_lock_sessions",
                                      "Sessions of clients with locks at this server, by state",
                                      {"state"})),
      event_streams_(
          gauge("muster_event_streams", "Open event streams, of pages and other clients")),
      calls_open_(
          gauge("muster_rpc_calls_open", "Open calls of clients, including answers not yet taken")),
      connections_open_(
          gauge("muster_rpc_connections_open", "Open connections of clients for calls")),
      term_(gauge("muster_raft_term", "Epoch of the leadership")),
      head_(gauge("muster_log_head_index", "The newest entry of the log seen here")),
      applied_(gauge("muster_log_applied_index", "The newest entry of the log applied here")),
      staleness_(gauge("muster_staleness_seconds",
                       "Maximum age of this server's answers; 0 while it leads")),
      lease_left_(gauge("muster_lease_left_seconds",
                        "Remaining time to lead without another renewal; 0 when not leading")),
      decisions_kept_(gauge("muster_decisions_kept", "Decisions kept for explanations")),
      certificate_left_(registry_.gauges("muster_tls_certificate_left_seconds",
                                         "Remaining validity of this server's certificate", {})),
      crl_age_(registry_.gauges("muster_tls_crl_age_seconds", "Age of the revocation list", {})),
      crl_term_(registry_.gauges("muster_tls_crl_term_seconds",
                                 "Total validity of the revocation list", {})),
      crl_left_(registry_.gauges("muster_tls_crl_left_seconds",
                                 "Remaining validity of the revocation list", {})),
      crl_failures_(
          counter("muster_tls_crl_failures_total", "Failed renewals of the revocation list")),
      tls_(gauge("muster_tls_enabled", "1 with mutual TLS, 0 in plaintext")) {
  registry_
      .gauges("muster_build_info", "1, with commit and version of this program",
              {"commit", "version"})
      .with({build_info().commit, build_info().version})
      .set(1);
  // What may happen is there from the start, so that a rate can be told from the first time on.
  for (const std::string& method : known_methods()) {
    Method& known = methods_[method];
    known.seconds = &rpc_seconds_.with({short_name(method)});
    known.codes[0] = &rpc_requests_.with({"OK", short_name(method)});
  }
  methods_[kOther].seconds = &rpc_seconds_.with({kOther});
  for (const char* operation : {"get", "put", "guarded_put", "remove", "list"}) {
    store_answered_[operation] = &store_seconds_.with({operation});
    store_requests_.with({operation, "ok"});
  }
  for (const char* reason : {"heartbeats", "registrations", "deregistrations", "topology", "reads",
                             "writes", "watches", "calls", "connections"}) {
    rejections_.with({reason});
  }
  for (const auto breach : {rpc::Breach::kProtocol, rpc::Breach::kHeaders, rpc::Breach::kResets,
                            rpc::Breach::kEmptyFrames, rpc::Breach::kUntaken}) {
    cuts_.with({rpc::to_string(breach)});
  }
  lost_leadership_.with({to_string(EndReason::kStopped)});
  leader_down_.with({to_string(DownCause::kReleased)});
  transitions_.with({"JOINING", "ACTIVE"});
  for (const auto kind : {cluster::DecisionKind::kTransition, cluster::DecisionKind::kLeader}) {
    decisions_.with({to_string(kind)});
  }
  for (const char* path : {"v1", "api", "metrics", "probe", "page"}) {
    http_requests_.with({path, "200"});
  }
}

Gauge& Metrics::gauge(const std::string& name, const std::string& help) {
  return registry_.gauges(name, help, {}).with({});
}

Counter& Metrics::counter(const std::string& name, const std::string& help) {
  return registry_.counters(name, help, {}).with({});
}

Buckets& Metrics::seconds(const std::string& name, const std::string& help) {
  return registry_.histograms(name, help, {}, kSeconds).with({});
}

void Metrics::rpc_ended(const std::string& method, rpc::Code code, Duration took, bool stream) {
  const auto found = methods_.find(method);
  const bool known = found != methods_.end();
  Method& entry = known ? found->second : methods_[kOther];
  Counter*& count = entry.codes[static_cast<int>(code)];
  if (count == nullptr) {
    count = &rpc_requests_.with({to_string(code), known ? short_name(method) : kOther});
  }
  count->add();
  if (!stream) entry.seconds->observe(in_seconds(took));
}

void Metrics::store_answered(const char* operation, const std::string& outcome, Duration took) {
  store_requests_.with({operation, outcome}).add();
  store_answered_[operation]->observe(in_seconds(took));
}

void Metrics::transition(membership::NodeState from, membership::NodeState to) {
  transitions_.with({to_string(from), to_string(to)}).add();
}

void Metrics::decided(cluster::DecisionKind kind) {
  decisions_.with({to_string(kind)}).add();
}

void Metrics::batch(std::size_t beats) {
  batch_size_.observe(static_cast<double>(beats));
}

void Metrics::committed(Duration took) {
  commit_seconds_.observe(in_seconds(took));
}

void Metrics::elected(Duration took) {
  election_seconds_.observe(in_seconds(took));
}

bool Metrics::election(const telemetry::Event& event) {
  if (std::holds_alternative<telemetry::BecameLeader>(event.what)) {
    became_leader_.add();
  } else if (const auto* lost = std::get_if<telemetry::LostLeadership>(&event.what)) {
    lost_leadership_.with({to_string(lost->reason)}).add();
  } else if (const auto* down = std::get_if<telemetry::LeaderDown>(&event.what)) {
    leader_down_.with({to_string(down->cause)}).add();
  } else if (std::holds_alternative<telemetry::ElectionCheck>(event.what)) {
    election_checks_.add();
  } else {
    return false;
  }
  return true;
}

void Metrics::rejected(const std::string& reason) {
  rejections_.with({reason}).add();
}

void Metrics::cut(rpc::Breach breach) {
  cuts_.with({rpc::to_string(breach)}).add();
}

void Metrics::http_answered(const char* path, int status) {
  http_requests_.with({path, std::to_string(status)}).add();
}

void Metrics::set(const Levels& levels) {
  const auto of_service = [&](const char* service) {
    const auto found = levels.nodes_by_service.find(service);
    return found == levels.nodes_by_service.end() ? 0 : found->second;
  };
  topology_version_.set(static_cast<double>(levels.topology_version));
  object_nodes_.set(of_service("object"));
  metadata_nodes_.set(of_service("metadata"));
  frontend_nodes_.set(of_service("frontend"));
  set_services(levels.nodes_by_service);
  for (const auto& [state, count] : levels.nodes_by_state) {
    nodes_by_state_.with({state}).set(count);
  }
  nodes_held_.with({"grace"}).set(levels.held_by_grace);
  nodes_held_.with({"brake"}).set(levels.held_by_brake);
  nodes_damped_.set(levels.nodes_damped);
  watchers_.set(levels.watchers);
  watch_lag_.set(levels.watch_lag);
  campaigns_.with({"leading"}).set(levels.campaigns_leading);
  campaigns_.with({"waiting"}).set(levels.campaigns - levels.campaigns_leading);
  lock_sessions_.with({"holding"}).set(levels.locks_held);
  lock_sessions_.with({"waiting"}).set(levels.locks_waited_for);
  event_streams_.set(levels.event_streams);
  calls_open_.set(levels.calls_open);
  connections_open_.set(levels.connections_open);
  term_.set(levels.term);
  for (const char* role : {"leader", "follower", "candidate"}) {
    role_.with({role}).set(levels.role == role ? 1 : 0);
  }
  head_.set(levels.head_index);
  applied_.set(levels.applied_index);
  staleness_.set(levels.staleness_s);
  lease_left_.set(levels.lease_left_s);
  decisions_kept_.set(levels.decisions);
  tls_.set(levels.certificate_left_s ? 1 : 0);
  if (levels.certificate_left_s) certificate_left_.with({}).set(*levels.certificate_left_s);
  if (levels.crl_age_s) crl_age_.with({}).set(*levels.crl_age_s);
  if (levels.crl_term_s) crl_term_.with({}).set(*levels.crl_term_s);
  if (levels.crl_left_s) crl_left_.with({}).set(*levels.crl_left_s);
  crl_failures_.raise_to(levels.crl_failures);
}

// A service without nodes is gone, so that those of years do not fill the family.
void Metrics::set_services(const std::map<std::string, double>& nodes) {
  std::map<std::vector<std::string>, double> samples;
  for (const auto& [service, count] : nodes) {
    const bool full = samples.size() >= kServicesMax;
    samples[{full ? Family<Gauge>::kOther : service}] += count;
  }
  nodes_by_service_.retain(samples);
  for (const auto& [service, count] : samples) nodes_by_service_.with(service).set(count);
}

std::string Metrics::text() const {
  return registry_.text();
}

}  // namespace muster::server
