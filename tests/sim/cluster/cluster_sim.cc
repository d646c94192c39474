#include "tests/sim/cluster/cluster_sim.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace muster::sim {
namespace {

// Two hosts slewed by this in opposite directions are what the default drift allows for.
constexpr double kSlew = 0.083;

/// Timeouts as short as they may be, so that a minute has room for everything.
ServerConfig server_config(Random& random) {
  ServerConfig config;
  config.lease_timeout = 2s;
  config.snapshot_entries = 20 + static_cast<std::uint32_t>(random.below(60));
  membership::Options& membership = config.membership;
  membership.heartbeat_interval = 1s;
  membership.heartbeat_batch_interval = 500ms;
  membership.suspect_timeout = 4s;
  membership.down_timeout = 8s;
  membership.leader_grace_period = 8s;
  membership.joining_timeout = 8s;
  membership.flap_window = 30s;
  membership.down_brake_share = 0.25;
  membership.down_brake_window = 12s;
  membership.ring.virtual_nodes_per_physical = 4;
  membership.ring.replication_factor = 2;
  MUSTER_CHECK(membership.validate().ok());
  return config;
}

}  // namespace

ClusterSim::ClusterSim(std::uint64_t seed, ClusterSimOptions options)
    : options_(options),
      world_(seed),
      clock_random_(~seed),
      network_(world_),
      setting_{world_, network_, store_, invariants_, server_config(world_.random()),
               {},     journal_, kSlew},
      invariants_(world_, store_, setting_.server.membership, kSlew) {
  Random& random = world_.random();
  // About half of the engines are like S3, half like etcd, some in between.
  store_->guarded_put = random.chance(0.5);
  store_->watch = random.chance(store_->guarded_put ? 0.7 : 0.2);
  store_->conditional_remove = store_->guarded_put;
  store_->cut_off_is_deaf = true;
  store_->on_send = [this](const Key& key, const std::string& body) {
    invariants_.reference().sending(key, body);
  };
  worsen();
  network_.on_resent = [this](const std::string& host, const std::string& method) {
    say(host, "has its call of " + method + " sent twice");
    for (const auto& client : clients_) {
      if (client->name() == host) client->resent();
    }
  };
  populate(seed);
}

ClusterSim::~ClusterSim() {
  for (Host* host : hosts_) host->kill();
}

template <typename T, typename... Args>
T& ClusterSim::add(std::vector<std::unique_ptr<T>>& kind, Args&&... args) {
  kind.push_back(std::make_unique<T>(setting_, std::forward<Args>(args)...));
  hosts_.push_back(kind.back().get());
  return *kind.back();
}

void ClusterSim::populate(std::uint64_t seed) {
  Random& random = world_.random();
  constexpr int kServers[] = {1, 2, 3, 3, 3, 3, 3, 4, 5, 5};
  const int servers = kServers[random.below(10)];
  for (int i = 1; i <= servers; ++i) {
    setting_.servers.push_back("s" + std::to_string(i) + ":9000");
    at_engine_.push_back(&add(servers_, setting_.servers.back()));
  }
  std::vector<int> first, second;
  for (int i = 0; i < kSimNodes; ++i) (i % 2 == 0 ? first : second).push_back(i);
  add(agents_, "agent1", first);
  add(agents_, "agent2", second);
  twin_ = std::make_unique<AgentHost>(setting_, "twin", std::vector<int>{0, 2});
  hosts_.push_back(twin_.get());
  for (const char* services : Invariants::kWatched) {
    add(watchers_, "watcher" + std::to_string(watchers_.size() + 1),
        *membership::ServiceFilter::parse(services));
  }
  for (int i = 1; i <= 3; ++i) add(clients_, "client" + std::to_string(i));
  // Two wait until a server has given their writes up.
  clients_[0]->patience = clients_[1]->patience = 14s;
  if (random.chance(0.5)) {
    for (int i = 1; i <= 2; ++i) add(candidates_, "candidate" + std::to_string(i));
  } else {
    for (int i = 1; i <= 2; ++i) {
      at_engine_.push_back(&add(workers_, "worker" + std::to_string(i)));
    }
  }
  // In one seed of five.
  constexpr std::uint64_t kWithCampaigns[] = {7, 11, 13, 15};
  if (std::find(std::begin(kWithCampaigns), std::end(kWithCampaigns), seed % 20) !=
      std::end(kWithCampaigns)) {
    for (int i = 1; i <= 3; ++i) add(campaigns_, "campaign" + std::to_string(i));
  }
  operator_ = std::make_unique<OperatorHost>(setting_, "operator");
  hosts_.push_back(operator_.get());
}

void ClusterSim::heal() {
  say("world", "everything heals");
  healed_ = true;
  store_->faults = StoreFaults();
  network_.faults = NetworkFaults();
  network_.mend_all();
  for (EngineHost* host : at_engine_) {
    if (host->runs()) host->set_cut_off(false);
  }
  for (Host* host : hosts_) {
    if (!host->runs() && host != twin_.get()) host->start();
  }
  for (const auto& campaign : campaigns_) campaign->settle();
}

bool ClusterSim::check() {
  ++report_.events;
  invariants_.begin_look();
  for (const auto& server : servers_) {
    if (server->runs()) invariants_.look(server->name(), server->peer());
  }
  for (const auto& worker : workers_) {
    if (worker->runs()) invariants_.look(worker->name(), worker->coordinator());
  }
  for (const auto& campaign : campaigns_) campaign->look();
  invariants_.look(journal_);
  return invariants_.violation().empty();
}

void ClusterSim::check_calm() {
  Invariants::Calm calm;
  for (const auto& server : servers_) {
    calm.server_leads |= server->runs() && server->peer().leader().self;
  }
  for (const auto& client : clients_) {
    calm.last_write = std::max(calm.last_write, client->last_written());
    calm.last_reads[client->name()] = client->last_read();
  }
  for (const auto& watcher : watchers_) calm.watchers[watcher->name()] = watcher->version();
  for (const auto& agent : agents_) {
    for (std::size_t i = 0; i < agent->nodes().size(); ++i) {
      if (agent->expects(i)) calm.living.push_back(agent->id(i));
    }
  }
  if (!candidates_.empty() || !campaigns_.empty())
    calm.singleton_runs = journal_.running().size() == 1;
  for (const auto& worker : workers_) {
    calm.worker_leads = calm.worker_leads.value_or(false) || worker->coordinator().leads();
  }
  invariants_.judge_calm(calm);
}

void ClusterSim::say(const std::string& who, const std::string& what) {
  if (!options_.trace) return;
  char head[64];
  std::snprintf(head, sizeof head, "%10.3f  %-10s ",
                static_cast<double>(to_ms(world_.now())) / 1000, who.c_str());
  report_.trace.push_back(head + what);
}

SimReport simulate_cluster(std::uint64_t seed, const ClusterSimOptions& options) {
  ClusterSim jumping(seed, options);
  SimReport report = jumping.run();
  if (!report.violation.empty() || seed % 4 != 0) return report;
  ClusterSimOptions steady_options = options;
  steady_options.clocks_jump = false;
  steady_options.trace = false;
  ClusterSim steady(seed, steady_options);
  report.violation = steady.run().violation;
  if (!report.violation.empty()) return report;
  const auto [one, other] = std::mismatch(jumping.decided().begin(), jumping.decided().end(),
                                          steady.decided().begin(), steady.decided().end());
  const auto text = [](const auto& at, const auto& end) { return at == end ? "nothing" : *at; };
  if (one != jumping.decided().end() || other != steady.decided().end()) {
    report.violation =
        "wall clocks that jump changed a decision: " + text(one, jumping.decided().end()) +
        " instead of " + text(other, steady.decided().end());
  }
  return report;
}

SimReport ClusterSim::run() {
  if (options_.trace) {
    set_log_sink([this](const LogLine& line) { say("log", format_text(line)); });
  }
  for (Host* host : hosts_) {
    if (host == twin_.get()) continue;
    world_.after(world_.random().between(0s, 3s), [this, host] {
      say(host->name(), "starts");
      host->start();
    });
  }
  schedule_chaos();
  schedule_clocks();
  if (!campaigns_.empty()) trouble_campaigns();
  world_.run(options_.chaos, [this] { return check(); });
  if (invariants_.violation().empty()) {
    heal();
    world_.run(options_.chaos + options_.calm, [this] { return check(); });
    if (invariants_.violation().empty()) check_calm();
  }
  invariants_.judge_history();
  report_.violation = invariants_.violation();
  if (!report_.violation.empty()) say("world", "VIOLATION: " + report_.violation);
  report_.terms = invariants_.terms();
  report_.simulated = world_.now();
  set_log_sink({});
  return std::move(report_);
}

}  // namespace muster::sim
