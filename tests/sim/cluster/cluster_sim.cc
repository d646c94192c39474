#include "tests/sim/cluster/cluster_sim.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace muster::sim {
namespace {

// Two hosts slewed by this in opposite directions are what the default drift allows for.
constexpr double kSlew = 0.083;
constexpr int kNodes = 8;

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

StoreFaults engine_faults(Random& random) {
  StoreFaults faults = StoreFaults::scaled(0.6 * random.unit() * random.unit());
  faults.slow_max = 5s;
  return faults;
}

}  // namespace

ClusterSim::ClusterSim(std::uint64_t seed, ClusterSimOptions options)
    : options_(options),
      world_(seed),
      network_(world_),
      setting_{world_, network_, store_, invariants_, server_config(world_.random()),
               {},     journal_, kSlew},
      invariants_(world_, store_, setting_.server.membership, kSlew) {
  Random& random = world_.random();
  // About half of the engines are like S3, half like etcd, some in between.
  store_->guarded_put = random.chance(0.5);
  store_->watch = random.chance(store_->guarded_put ? 0.7 : 0.2);
  store_->conditional_remove = store_->guarded_put;
  store_->faults = engine_faults(random);
  store_->cut_off_is_deaf = true;
  store_->on_send = [this](const Key& key, const std::string& body) {
    invariants_.reference().sending(key, body);
  };
  network_.faults.slow = 0.05 * random.unit();
  populate();
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

void ClusterSim::populate() {
  Random& random = world_.random();
  constexpr int kServers[] = {1, 2, 3, 3, 3, 3, 3, 4, 5, 5};
  const int servers = kServers[random.below(10)];
  for (int i = 1; i <= servers; ++i) {
    setting_.servers.push_back("s" + std::to_string(i) + ":9000");
    add(servers_, setting_.servers.back());
  }
  std::vector<int> first, second;
  for (int i = 0; i < kNodes; ++i) (i % 2 == 0 ? first : second).push_back(i);
  add(agents_, "agent1", first);
  add(agents_, "agent2", second);
  twin_ = std::make_unique<AgentHost>(setting_, "twin", std::vector<int>{0, 2});
  hosts_.push_back(twin_.get());
  add(watchers_, "watcher1");
  for (int i = 1; i <= 3; ++i) add(clients_, "client" + std::to_string(i));
  // Two wait until a server has given their writes up.
  clients_[0]->patience = clients_[1]->patience = 14s;
  if (random.chance(0.5)) {
    for (int i = 1; i <= 2; ++i) add(candidates_, "candidate" + std::to_string(i));
  } else {
    for (int i = 1; i <= 2; ++i) add(workers_, "worker" + std::to_string(i));
  }
  operator_ = std::make_unique<OperatorHost>(setting_, "operator");
  hosts_.push_back(operator_.get());
}

Host& ClusterSim::any_host() {
  // Every other trouble is a server's.
  Random& random = world_.random();
  if (random.chance(0.5)) return *servers_[random.below(servers_.size())];
  return *hosts_[random.below(hosts_.size())];
}

void ClusterSim::schedule_chaos() {
  world_.after(world_.random().between(100ms, 3s), [this] {
    if (healed_) return;
    wreak_chaos();
    schedule_chaos();
  });
}

void ClusterSim::wreak_chaos() {
  Random& random = world_.random();
  switch (random.below(13)) {
    case 0:
    case 1:
      return crash(any_host());
    case 2:
    case 3:
      return freeze(any_host());
    case 4:
    case 5:
      return cut_link();
    case 6:
      return isolate(any_host());
    case 7:
      return stop_server();
    case 8:
      return trouble_engine();
    case 9:
      return operate();
    case 10:
      return cut_engine();
    default:
      return trouble_nodes();
  }
}

void ClusterSim::crash(Host& host) {
  if (!host.runs()) return;
  say(host.name(), "crashes");
  host.kill();
  world_.after(world_.random().between(0s, 12s), [this, &host] {
    if (host.runs() || healed_) return;
    say(host.name(), "starts");
    host.start();
  });
}

void ClusterSim::freeze(Host& host) {
  if (!host.runs()) return;
  const Duration length = world_.random().between(50ms, 10s);
  say(host.name(), "freezes for " + std::to_string(to_ms(length)) + " ms");
  host.process().pause(world_.now() + length);
}

void ClusterSim::cut_engine() {
  Random& random = world_.random();
  ServerHost& server = *servers_[random.below(servers_.size())];
  if (!server.runs()) return;
  say(server.name(), "does not reach the engine");
  server.set_cut_off(true);
  // Every other time for longer than a leader insists on a write.
  const Duration length = random.between(100ms, 4s) + (random.chance(0.5) ? 10s : 0s);
  world_.after(length, [&server, life = server.life()] {
    if (server.runs() && server.life() == life) server.set_cut_off(false);
  });
}

void ClusterSim::cut_link() {
  Random& random = world_.random();
  const Host& one = any_host();
  const Host& other = *servers_[random.below(servers_.size())];
  if (&one == &other) return cut_engine();
  const bool both = random.chance(0.5);
  say(one.name(), std::string(both ? "and " : "no longer reaches ") + other.name() +
                      (both ? " are cut off from each other" : ""));
  network_.cut(one.name(), other.name());
  if (both) network_.cut(other.name(), one.name());
  world_.after(random.between(100ms, 12s), [this, &one, &other] {
    network_.mend(one.name(), other.name());
    network_.mend(other.name(), one.name());
  });
}

void ClusterSim::isolate(Host& host) {
  say(host.name(), "is alone");
  for (const Host* other : hosts_) {
    network_.cut(host.name(), other->name());
    network_.cut(other->name(), host.name());
  }
  world_.after(world_.random().between(500ms, 12s), [this, &host] {
    for (const Host* other : hosts_) {
      network_.mend(host.name(), other->name());
      network_.mend(other->name(), host.name());
    }
  });
}

void ClusterSim::stop_server() {
  ServerHost& server = *servers_[world_.random().below(servers_.size())];
  if (!server.runs()) return;
  say(server.name(), "stops in order");
  const Duration delay = world_.random().between(0s, 6s);
  server.process().post([this, &server, delay] {
    server.stop([this, &server, delay, life = server.life()] {
      // The server is still on the stack: end it in an event of its own.
      world_.after(0s, [this, &server, delay, life] {
        if (!server.runs() || server.life() != life) return;
        say(server.name(), "has stopped");
        server.kill();
        world_.after(delay, [&server] {
          if (!server.runs()) server.start();
        });
      });
    });
  });
}

void ClusterSim::trouble_engine() {
  Random& random = world_.random();
  const std::uint64_t which = random.below(4);
  if (which == 0) {
    store_->faults = engine_faults(random);
    network_.faults.slow = 0.05 * random.unit();
    return say("engine", "behaves differently");
  }
  if (which == 1) {
    ServerHost& server = *servers_[random.below(servers_.size())];
    if (!server.runs()) return;
    const Duration by = random.between(-20min, 20min);
    say(server.name(), "has its clock set by " + std::to_string(to_ms(by)) + " ms");
    return server.process().jump_wall_clock(by);
  }
  const bool power = which == 2;
  say("engine", power ? "loses its power" : "is down");
  if (power) ++store_->power_losses;
  store_->faults.down = true;
  world_.after(random.between(100ms, 8s), [this] { store_->faults.down = false; });
}

void ClusterSim::trouble_nodes() {
  Random& random = world_.random();
  AgentHost& agent = *agents_[random.below(agents_.size())];
  const std::size_t node = random.below(agent.nodes().size());
  if (random.chance(0.15)) {
    if (twin_->runs()) return;
    say("twin", "takes the place of two nodes");
    return twin_->start();
  }
  if (!agent.runs()) return;
  const auto later = [this, &agent](std::function<void()> act) {
    world_.after(world_.random().between(1s, 10s), [&agent, act, life = agent.life()] {
      if (agent.runs() && agent.life() == life) agent.process().post(act);
    });
  };
  if (random.chance(0.4)) {
    say(agent.id(node).value(), "is drained by itself");
    agent.process().post([&agent, node] { agent.set_draining(node, true); });
    return later([&agent, node] { agent.set_draining(node, false); });
  }
  if (random.chance(0.3)) {
    say(agent.id(node).value(), "leaves");
    agent.process().post([&agent, node] { agent.remove(node); });
    return later([&agent, node] { agent.add(node); });
  }
  // Long enough to be suspected, too short to be DOWN: a node that flaps.
  say(agent.name(), "falls silent for a while");
  agent.process().pause(world_.now() + random.between(4s, 7s));
}

void ClusterSim::operate() {
  Random& random = world_.random();
  if (!operator_->runs()) return;
  const NodeId node("n" + std::to_string(random.below(kNodes)));
  const std::uint64_t which = random.below(4);
  const bool cancel = random.chance(0.6);
  const auto virtual_nodes = static_cast<std::uint32_t>(2 + random.below(6));
  say("operator",
      which == 0   ? "asks for another leader"
      : which == 1 ? "changes the ring"
                   : std::string(cancel ? "takes back the drain of " : "drains ") + node.value());
  operator_->process().post([this, which, node, cancel, virtual_nodes] {
    if (which == 0) return operator_->transfer_leadership();
    if (which == 1) return operator_->set_ring(virtual_nodes);
    operator_->drain(node, cancel);
  });
}

void ClusterSim::heal() {
  say("world", "everything heals");
  healed_ = true;
  store_->faults = StoreFaults();
  network_.faults = NetworkFaults();
  network_.mend_all();
  for (const auto& server : servers_) {
    if (server->runs()) server->set_cut_off(false);
  }
  for (Host* host : hosts_) {
    if (!host->runs() && host != twin_.get()) host->start();
  }
}

bool ClusterSim::check() {
  ++report_.events;
  invariants_.begin_look();
  for (const auto& server : servers_) {
    if (server->runs()) invariants_.look(server->name(), server->peer());
  }
  const WorkerHost* leader = nullptr;
  for (const auto& worker : workers_) {
    if (!worker->runs() || !worker->coordinator().leads()) continue;
    if (leader != nullptr) invariants_.violate("two workers lead at the same time");
    leader = worker.get();
  }
  if (!journal_.violation.empty()) invariants_.violate(journal_.violation);
  return invariants_.violation().empty();
}

// Long after everything healed: somebody leads, reads and writes go through, every node that
// lives is in, watchers are up to date, and the singleton runs.
void ClusterSim::check_calm() {
  const TrueTime recent = world_.now() - 12s;
  const auto must = [this](bool holds, const std::string& what) {
    if (!holds) invariants_.violate(what + " long after everything healed");
  };
  must(std::any_of(
           servers_.begin(), servers_.end(),
           [](const auto& server) { return server->runs() && server->peer().leader().self; }),
       "nobody leads");
  must(std::any_of(clients_.begin(), clients_.end(),
                   [&](const auto& client) { return client->last_written() > recent; }),
       "nothing was written");
  for (const auto& client : clients_) {
    must(client->last_read() > recent - 15s, client->name() + " has read nothing");
  }
  const membership::Topology& topology = invariants_.reference().state().topology();
  for (const auto& watcher : watchers_) {
    must(watcher->version() == topology.version(), watcher->name() + " is behind");
  }
  for (const auto& agent : agents_) {
    for (std::size_t i = 0; i < agent->nodes().size(); ++i) {
      if (!agent->expects(i)) continue;
      const membership::NodeEntry* node = topology.find(agent->id(i));
      must(node != nullptr && (node->state == membership::NodeState::kActive ||
                               node->state == membership::NodeState::kDraining),
           agent->id(i).value() + " lives and is not in");
    }
  }
  must(candidates_.empty() || journal_.running().size() == 1, "the singleton does not run");
  must(workers_.empty() || std::any_of(workers_.begin(), workers_.end(),
                                       [](const auto& w) { return w->coordinator().leads(); }),
       "no worker leads");
}

void ClusterSim::say(const std::string& who, const std::string& what) {
  if (!options_.trace) return;
  char head[64];
  std::snprintf(head, sizeof head, "%10.3f  %-10s ",
                static_cast<double>(to_ms(world_.now())) / 1000, who.c_str());
  report_.trace.push_back(head + what);
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
