// What goes wrong in a simulated cluster.

#include <string>
#include <utility>

#include "core/membership/lifecycle.h"
#include "tests/sim/cluster/cluster_sim.h"

namespace muster::sim {
namespace {

constexpr Duration kTenYears = 24h * 3652;

}  // namespace

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
  switch (random.below(14)) {
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
      return cut_store();
    case 11:
      return set_clock(any_host(), random.between(-kTenYears, kTenYears));
    default:
      return trouble_nodes();
  }
}

// A client that leads is frozen, and hears nothing afterwards; or a server is frozen, and then
// gone.
void ClusterSim::trouble_campaigns() {
  world_.after(world_.random().between(1s, 6s), [this] {
    if (healed_) return;
    trouble_campaigns();
    Random& random = world_.random();
    const bool client = random.chance(0.5);
    Host* host = servers_[random.below(servers_.size())].get();
    for (const auto& campaign : campaigns_) {
      if (client && campaign->leads()) host = campaign.get();
    }
    if (!host->runs()) return;
    const Duration length = random.between(50ms, 5s);
    say(host->name(), "freezes for " + std::to_string(to_ms(length)) + " ms, for worse to come");
    host->process().pause(world_.now() + length);
    const Duration later = length + random.between(0s, 100ms);
    const Duration cut = random.between(100ms, 8s);
    world_.after(later, [this, host, client, cut, life = host->life()] {
      if (healed_ || !host->runs() || host->life() != life) return;
      client ? cut_servers(*host, cut) : crash(*host);
    });
  });
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

void ClusterSim::set_clock(Host& host, Duration by) {
  if (!host.runs() || !options_.clocks_jump) return;
  say(host.name(), "has its clock set by " + std::to_string(to_ms(by)) + " ms");
  host.process().jump_wall_clock(by);
}

// A server's clock is set every few seconds, far or a little, and as often back to what it was.
void ClusterSim::schedule_clocks() {
  Random& random = clock_random_;
  ServerHost& server = *servers_[random.below(servers_.size())];
  const Duration far = random.chance(0.5) ? kTenYears : Duration(1h);
  const Duration by = random.between(-far, far);
  const Duration later = random.between(500ms, 5s);
  world_.after(random.between(500ms, 5s), [this, &server, by, later] {
    if (healed_) return;
    set_clock(server, by);
    world_.after(later, [this, &server, by, life = server.life()] {
      if (server.life() == life) set_clock(server, -by);
    });
    schedule_clocks();
  });
}

// Anyone who relies on a store loses it: servers and workers the engine, candidates the servers.
void ClusterSim::cut_store() {
  Random& random = world_.random();
  // Every other time for longer than a leader insists on a write.
  const Duration length = random.between(100ms, 4s) + (random.chance(0.5) ? 10s : 0s);
  if (!candidates_.empty() && random.chance(0.3)) {
    return cut_servers(*candidates_[random.below(candidates_.size())], length);
  }
  EngineHost& host = *at_engine_[random.below(at_engine_.size())];
  if (!host.runs()) return;
  say(host.name(), "does not reach the engine");
  host.set_cut_off(true);
  world_.after(length, [&host, life = host.life()] {
    if (host.runs() && host.life() == life) host.set_cut_off(false);
  });
}

void ClusterSim::cut_servers(const Host& host, Duration length) {
  const std::uint64_t way = world_.random().below(3);
  say(host.name(), way == 0   ? "no longer reaches the servers"
                   : way == 1 ? "no longer hears the servers"
                              : "and the servers are cut off from each other");
  for (const auto& server : servers_) {
    if (way != 1) network_.cut(host.name(), server->name());
    if (way != 0) network_.cut(server->name(), host.name());
  }
  world_.after(length, [this, &host] {
    for (const auto& server : servers_) {
      network_.mend(host.name(), server->name());
      network_.mend(server->name(), host.name());
    }
  });
}

void ClusterSim::cut_link() {
  Random& random = world_.random();
  const Host& one = any_host();
  const Host& other = *servers_[random.below(servers_.size())];
  if (&one == &other) return cut_store();
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
  say(server.name(), "stops cleanly");
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

// How the engine and the network behave from now on.
void ClusterSim::worsen() {
  Random& random = world_.random();
  store_->faults = StoreFaults::scaled(0.6 * random.unit() * random.unit());
  store_->faults.slow_max = 5s;
  network_.faults.slow = 0.05 * random.unit();
  network_.faults.resent = 0.08 * random.unit();
}

void ClusterSim::trouble_engine() {
  Random& random = world_.random();
  const std::uint64_t which = random.below(3);
  if (which == 0) {
    worsen();
    return say("engine", "behaves differently");
  }
  const bool power = which == 1;
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

// A node that is DOWN or still joining: an operator may not want it back as it was.
std::optional<NodeId> ClusterSim::outside_ring() {
  std::optional<NodeId> found;
  invariants_.reference().state().topology().for_each([&](const membership::NodeEntry& node) {
    if (!membership::in_ring(node.state)) found = node.id;
  });
  return found;
}

void ClusterSim::operate() {
  Random& random = world_.random();
  if (!operator_->runs()) return;
  NodeId node("n" + std::to_string(random.below(kSimNodes)));
  if (random.chance(0.5)) node = outside_ring().value_or(node);
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

}  // namespace muster::sim
