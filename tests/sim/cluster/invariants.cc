#include "tests/sim/cluster/invariants.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "core/election/records.h"
#include "core/membership/lifecycle.h"
#include "core/routing/movement_plan.h"
#include "tests/sim/cluster/invariants_words.h"
#include "tests/sim/cluster/summary.h"

namespace muster::sim {
namespace {

using membership::EventKind;
using membership::NodeState;

/// Heartbeats remembered of a generation; more are sent in no time that matters.
constexpr std::size_t kBeatsKept = 64;

bool has_type(const std::string& service) {
  membership::NodeSpec named;
  membership::set_service(named, service);
  return named.service.empty();
}

bool watched_by(const std::string& watched, const std::string& service) {
  return watched == "*" || (watched.empty() ? has_type(service) : watched == service);
}

/// The ring that a node of the service is on.
std::string ring_of(const std::string& service) {
  return has_type(service) ? "" : service;
}

std::string ms(Duration d) {
  return std::to_string(to_ms(d)) + " ms";
}

}  // namespace

Invariants::Invariants(World& world, std::shared_ptr<SharedStore> store,
                       const membership::Options& options, double slew)
    : world_(world),
      options_(options),
      slew_(slew),
      reference_(world, std::move(store),
                 {[this](const Committed& e) { entry(e); },
                  [this](const Committed& e, const cluster::Command& c, const cluster::Applied& a) {
                    command(e, c, a);
                  },
                  [this](std::string what) { violate(std::move(what)); }}) {}

void Invariants::violate(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

// One leader per epoch, one leader at a time; all copies of the log agree.
void Invariants::look(const std::string& server, const server::ClusterPeer& peer) {
  const std::uint64_t applied = peer.replica().log().applied().value();
  if (std::exchange(looked_at_[server], applied) != applied) {
    const auto expected = reference_.digest_at(applied);
    if (!expected || *expected != digest(peer.replica().state())) {
      violate(server + " has another state than the log at entry " + number(applied));
    }
  }
  const server::LeaderView leader = peer.leader();
  if (!leader.self) return;
  for (const auto& [other, epoch] : leading_) {
    violate(other + " leads with epoch " + number(epoch.value()) + " while " + server +
            " leads with epoch " + number(leader.epoch.value()));
  }
  leading_[server] = leader.epoch;
  const auto [first, fresh] = led_by_.emplace(leader.epoch, server);
  if (first->second != server) {
    violate(first->second + " and " + server + " led with epoch " + number(leader.epoch.value()));
  }
}

// One worker of a namespace leads at a time.
void Invariants::look(const std::string& worker, const NamespaceCoordinator& coordinator) {
  if (!coordinator.leads()) return;
  if (const std::string other = std::exchange(leading_worker_, worker); !other.empty()) {
    violate("the workers " + other + " and " + worker + " lead at the same time");
  }
}

// A singleton runs in one place at a time, with a higher epoch than ever before, and never past its
// deadline. Its journal judges that as it happens, for the simulation of candidates alone, too.
void Invariants::look(const WorkJournal& journal) {
  if (!journal.violation.empty()) violate(journal.violation);
}

// Nobody acquires while a client believes to lead, not even another server for the same client.
void Invariants::singleton_written(const Committed& e, const LeaderState& state) {
  if (!state.leader) return;
  singleton_written_[state.epoch] = e.at;
  for (const auto& [host, belief] : beliefs_) {
    if (belief.epoch >= state.epoch || belief.until <= e.at) continue;
    violate("epoch " + number(state.epoch.value()) + " began while " + host +
            " believed to lead epoch " + number(belief.epoch.value()));
  }
}

// Another may begin a lease after it has seen the last state of the term, by the fastest clock.
void Invariants::believes(const std::string& host, Epoch epoch, TrueTime until) {
  beliefs_[host] = {epoch, until};
  const auto written = singleton_written_.find(epoch);
  if (written == singleton_written_.end()) {
    return violate(host + " believes to lead epoch " + number(epoch.value()) +
                   ", which nobody has acquired");
  }
  if (until > written->second + scale(kSingletonLease, 1.0 / (1.0 + slew_))) {
    violate(host + " believes to lead on when another may begin");
  }
}

void Invariants::release_confirmed(const std::string& host, Epoch epoch) {
  const auto* entry = reference_.state().kv().find(NamespaceKeys(kSingleton).state);
  const auto state = entry == nullptr ? Result<LeaderState>(Error{Errc::kNotFound, {}})
                                      : decode_leader_state(*entry->value);
  const bool over =
      state && (state->epoch > epoch || (state->released && state->released->epoch == epoch));
  if (!over) {
    violate(host + " was told that epoch " + number(epoch.value()) +
            " was released, and nothing says so");
  }
}

// One writer per epoch.
void Invariants::entry(const Committed& e) {
  const Epoch epoch = e.header.epoch;
  began_.emplace(epoch, e.at);
  const auto [first, fresh] = written_by_.emplace(epoch, e.header.incarnation);
  if (first->second != e.header.incarnation) {
    violate("two incarnations wrote entries of epoch " + number(epoch.value()));
  }
}

void Invariants::command(const Committed& e, const cluster::Command& c,
                         const cluster::Applied& applied) {
  if (const auto* change = std::get_if<cluster::ChangeTopology>(&c)) {
    if (applied.answer) {
      if (const auto* down = std::get_if<membership::MarkDown>(&change->command)) {
        judged_silent(e, down->seen, true);
      } else if (const auto* suspect = std::get_if<membership::MarkSuspect>(&change->command)) {
        judged_silent(e, suspect->seen, false);
      } else if (const auto* drain = std::get_if<membership::SetDrain>(&change->command)) {
        drain->drained ? void(drained_.insert(drain->id)) : void(drained_.erase(drain->id));
      }
    } else if (!applied.events.empty()) {
      violate("a refused command changed the topology");
    }
  }
  for (const membership::Event& event : applied.events) topology_event(event);
  if (!applied.answer) return;
  const std::uint64_t revision = applied.answer->revision;
  if (const auto* put = std::get_if<cluster::StorePut>(&c)) {
    store_events_.push_back({revision, put->key, put->value});
    if (put->key == NamespaceKeys(kSingleton).state) {
      const auto state = decode_leader_state(put->value);
      if (state) singleton_written(e, *state);
    }
  } else if (const auto* remove = std::get_if<cluster::StoreRemove>(&c)) {
    store_events_.push_back({revision, remove->key, {}});
  }
  heartbeats_.clear();
  reference_.state().topology().for_each([this](const membership::NodeEntry& node) {
    heartbeats_[node.id] = node.heartbeats;
    // Watchers learn of a change by its version only.
    const Known now{node.state,
                    node.generation,
                    node.weight,
                    node.drain_requested,
                    std::string(service_of(node)),
                    node.tags};
    if (now != known(node.id)) violate(node.id.value() + " changed without a version");
  });
}

// No SUSPECT and no DOWN without its full timeout; no DOWN before the leader's grace has passed,
// nor of a node that has been heard in the log since the decision, nor past the brake.
void Invariants::judged_silent(const Committed& e, const membership::Observation& seen, bool down) {
  const std::string what = seen.id.value() + (down ? " went DOWN" : " became SUSPECT");
  const auto fast = [this](Duration d) { return scale(d, 1.0 / (1.0 + slew_)); };
  const Known before = known(seen.id);
  if (down && !membership::may_become_down(before.state)) violate(what + " from a wrong state");
  if (before.generation != seen.generation || heartbeats_[seen.id] != seen.heartbeats) {
    violate(what + ", although it was heard or replaced since the decision");
  }
  const Duration led = e.sent - began_.at(e.header.epoch);
  if (down && led < fast(options_.leader_grace_period)) {
    violate(what + " " + ms(led) + " after its judge began to lead");
  }
  // A new leader may know of no heartbeat that the one before acknowledged and did not write; it
  // has listened for this long itself.
  const Duration least = down ? std::min(options_.down_timeout, options_.leader_grace_period)
                              : std::min(options_.suspect_timeout, 3 * options_.heartbeat_interval);
  for (const Beat& beat : beats_[seen.id][seen.generation]) {
    // The decision was made after the entry before this one was sent, so it knew of these.
    if (beat.acknowledged > e.previous_sent || e.sent - beat.sent >= fast(least)) continue;
    violate(what + " " + ms(e.sent - beat.sent) + " after it sent a heartbeat, acknowledged");
  }
  if (down) brake(e, seen.id);
}

// Within one term, no more nodes are DOWN at a time than the brake allows.
void Invariants::brake(const Committed& e, const NodeId& node) {
  // One that took longer than a heartbeat interval to be written may no longer be counted by its
  // leader as under way.
  if (e.at - e.previous_sent >= scale(options_.heartbeat_interval, 1.0 / (1.0 + slew_))) return;
  downs_.push_back({node, e.header.epoch, e.at});
  const Duration window = scale(options_.down_brake_window, 1.0 / (1.0 + slew_));
  const auto recent =
      static_cast<std::size_t>(std::count_if(downs_.begin(), downs_.end(), [&](const Down& other) {
        return other.epoch == e.header.epoch && e.at - other.at < window &&
               (other.node == node || known(other.node).state == NodeState::kDown);
      }));
  const auto allowed = std::max<std::size_t>(
      1, static_cast<std::size_t>(options_.down_brake_share * static_cast<double>(nodes_max_)));
  if (recent > allowed) {
    violate(number(recent) + " nodes went DOWN at once; the brake allows " + number(allowed));
  }
}

// Versions chain, a replaced process stays out, and the ring moves only what it has to.
void Invariants::topology_event(const membership::Event& event) {
  if (event.previous_version.value() + 1 != event.version.value() ||
      event.version.value() != versions_.size()) {
    violate("version " + number(event.version.value()) + " does not follow");
  }
  const NodeId& id = event.node.id;
  const bool was_in = in_ring(id);
  const bool of_node = event.kind != EventKind::kRingConfigChanged;
  const std::string service = of_node ? std::string(service_of(event.node)) : "";
  if (event.kind == EventKind::kNodeRemoved) {
    nodes_.erase(id);
  } else if (!of_node) {
    ring_config_ = {event.ring.virtual_nodes_per_physical, event.ring.replication_factor};
    for (auto& [each, ring] : rings_) ring = make_ring(each);
  } else {
    std::uint64_t& registration = registrations_[event.node.generation];
    if (registration != 0 && registration != event.node.registration && nodes_.contains(id)) {
      violate(id.value() + " is held again by a process that had been replaced");
    }
    registration = event.node.registration;
    nodes_[id] = {event.node.state,  event.node.generation,
                  event.node.weight, event.node.drain_requested,
                  service,           event.node.tags};
    if (drained_.contains(id) && !event.node.drain_requested) {
      violate("the drain of " + id.value() + " was forgotten");
    }
  }
  nodes_max_ = std::max(nodes_max_, nodes_.size());
  if (const bool is_in = in_ring(id); is_in != was_in) ring_changed(ring_of(service), id, is_in);
  Version version{event.kind, id, {}};
  for (const std::string watched : kWatched) {
    version.shown[watched] = show(watched, !of_node || watched_by(watched, service));
  }
  versions_.push_back(std::move(version));
}

Invariants::Shown Invariants::show(const std::string& watched, bool changed) {
  if (!changed) {
    Shown same = versions_.back().shown[watched];
    same.changed = false;
    return same;
  }
  Summary nodes;
  for (const auto& [id, node] : nodes_) {
    if (watched_by(watched, node.service)) add_node(nodes, id, node, node.service);
  }
  Summary owners;
  for (const auto& [service, ring] : rings_) {
    const bool own = watched == service || (watched == "*");
    if (!own) continue;
    for (const std::string_view key : kSampleKeys) {
      for (const std::uint32_t member : ring.lookup(key).members) {
        owners.add(ring.members()[member].id.value());
      }
      owners.add(";");
    }
  }
  return {true, nodes.value(), owners.value()};
}

std::uint64_t Invariants::next_version(const std::string& watched, std::uint64_t at) const {
  for (std::uint64_t next = at + 1; next < versions_.size(); ++next) {
    if (versions_[next].shown.at(watched).changed) return next;
  }
  return 0;
}

Invariants::Known Invariants::known(const NodeId& id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? Known{} : found->second;
}

bool Invariants::in_ring(const NodeId& id) const {
  return membership::in_ring(known(id).state);
}

HashRing Invariants::make_ring(const std::string& service) const {
  std::vector<RingMember> members;
  for (const auto& [id, node] : nodes_) {
    if (membership::in_ring(node.state) && ring_of(node.service) == service) {
      members.push_back({id, node.weight, false});
    }
  }
  return HashRing(std::move(members), ring_config_);
}

void Invariants::ring_changed(const std::string& service, const NodeId& node, bool entered) {
  HashRing& ring = rings_[service];
  const HashRing before = std::exchange(ring, make_ring(service));
  for (const std::string_view key : kSampleKeys) {
    const Placement old = before.lookup(key);
    const Placement now = ring.lookup(key);
    if (old.members.empty() || now.members.empty()) continue;
    const NodeId& from = before.members()[old.members[0]].id;
    const NodeId& to = ring.members()[now.members[0]].id;
    if (from != to && (entered ? to : from) != node) {
      violate("a key moved from " + from.value() + " to " + to.value() + ", although only " +
              node.value() + (entered ? " entered" : " left"));
    }
  }
  const MovementPlan plan = movement_plan(before, ring);
  for (const NodeMovement& each : plan.nodes) {
    if (each.id == node || before.members().empty() || ring.members().empty()) continue;
    if ((entered ? each.primary_gained : each.primary_lost) == 0) continue;
    violate("keys of " + each.id.value() + " are planned to move, although only " + node.value() +
            (entered ? " entered" : " left"));
  }
}

// A process that was replaced is not heard.
void Invariants::registration_acknowledged(const NodeId& id,
                                           const membership::Generation& generation) {
  const std::uint64_t registration = registrations_[generation];
  if (registration == 0) {
    return violate("a registration of " + id.value() + " was acknowledged and is not in the log");
  }
  auto& [latest, told] = registered_[id];
  if (registration > latest) {
    latest = registration;
    told = world_.now();
  }
}

void Invariants::beat_acknowledged(const NodeId& id, const membership::Generation& generation,
                                   TrueTime sent) {
  std::deque<Beat>& beats = beats_[id][generation];
  beats.push_back({sent, world_.now()});
  if (beats.size() > kBeatsKept) beats.pop_front();
  const auto& [latest, told] = registered_[id];
  if (registrations_[generation] < latest && told < sent) {
    violate("a heartbeat of " + id.value() + " was taken from a process that had been replaced");
  }
}

// No acknowledged write is lost: it is in the log, and every copy is compared with the log.
void Invariants::write_acknowledged(const std::string& key, const std::string& value,
                                    const Revision& revision) {
  const StoreEvent due{std::strtoull(revision.value().c_str(), nullptr, 10), key, value};
  if (std::find(store_events_.rbegin(), store_events_.rend(), due) == store_events_.rend()) {
    violate("the write of " + value + " to " + key + " was acknowledged and is not in the log");
  }
}

}  // namespace muster::sim
