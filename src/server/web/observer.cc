#include "server/web/observer.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/election/records.h"
#include "core/membership/failure_detector.h"

namespace muster::server {
namespace {

constexpr Duration kFlushAfter = 250ms;
constexpr Duration kOverviewEvery = 1s;
constexpr Duration kRowsKept = 250ms;
constexpr std::size_t kNamespacesMax = 1000;
/// Changes beyond this are not worth telling one by one.
constexpr std::size_t kChangedMax = 20'000;

NodeRow to_row(const membership::NodeEntry& node, const membership::Topology& topology,
               membership::LogTime now) {
  return {node.id.value(),
          node.type,
          node.address,
          node.port,
          node.state,
          node.generation.value(),
          node.slot,
          node.suspect_count,
          topology.label(node.registered_at),
          topology.label(node.state_since),
          std::max(Duration(0), Duration(now - node.last_heartbeat_at)),
          std::max(Duration(0), Duration(now - node.state_since)),
          node.weight,
          node.service,
          node.tags};
}

}  // namespace

Observer::Observer(Loop& loop, Metrics& metrics, Options options)
    : loop_(loop),
      metrics_(metrics),
      options_(std::move(options)),
      flush_timer_(loop),
      tick_timer_(loop),
      sample_timer_(loop) {
  sample_timer_.arm(Series::kStep, [this] { sample(); });
}

void Observer::attach(Subject subject) {
  subject_ = std::move(subject);
  not_ready_.clear();
  told_ = subject_->replica->state().decisions().newest();
}

void Observer::release(std::string why) {
  subject_.reset();
  not_ready_ = std::move(why);
}

void Observer::applied(const std::vector<membership::Event>& events) {
  metrics_.commits.add();
  series_.commit();
  if (!subject_) return;
  const membership::Topology& topology = subject_->replica->state().topology();
  const membership::LogTime now = subject_->replica->log_now();
  for (const membership::Event& event : events) {
    if (event.kind == membership::EventKind::kRingConfigChanged) continue;
    const bool removed = event.kind == membership::EventKind::kNodeRemoved;
    const auto to = removed ? membership::NodeState::kUnknown : event.node.state;
    if (event.from != to) metrics_.transition(event.from, to);
    if (to == membership::NodeState::kSuspect) metrics_.suspicions.add();
    if (listeners_ == 0) continue;
    changed_[event.node.id.value()] =
        removed ? std::nullopt : std::optional<NodeRow>(to_row(event.node, topology, now));
  }
  const cluster::DecisionLog& log = subject_->replica->state().decisions();
  if (log.newest() > told_) {
    for (const auto& entry : log.after(told_, log.newest() - told_)) {
      metrics_.decided(entry->kind);
      if (entry->subject == cluster::kServersSubject) metrics_.leader_changes.add();
      if (listeners_ > 0) decided_.push_back(entry);
    }
    told_ = log.newest();
  }
  if (changed_.size() + decided_.size() > kChangedMax) return reloaded();
  if (!changed_.empty() || !decided_.empty()) flush_later();
}

void Observer::reloaded() {
  if (subject_) told_ = subject_->replica->state().decisions().newest();
  rows_.reset();
  changed_.clear();
  decided_.clear();
  reset_ = true;
  flush_later();
}

void Observer::batch_written(std::size_t beats) {
  metrics_.batch(beats);
  series_.batch(beats);
}

void Observer::set_listeners(std::size_t count) {
  listeners_ = count;
  if (count == 0) {
    tick_timer_.cancel();
  } else if (!tick_timer_.armed()) {
    tick();
  }
}

void Observer::tick() {
  tick_timer_.arm(kOverviewEvery, [this] { tick(); });
  if (!listener_) return;
  auto update = std::make_shared<Update>();
  update->overview = overview();
  update->version = update->overview->version;
  update->now = loop_.wall_now();
  listener_(std::move(update));
}

void Observer::sample() {
  sample_timer_.arm(Series::kStep, [this] { sample(); });
  const Sample& closed = series_.close(loop_.wall_now(), subject_ ? subject_->watchers() : 0);
  if (!listener_ || listeners_ == 0) return;
  auto update = std::make_shared<Update>();
  update->sample = closed;
  update->now = closed.at;
  listener_(std::move(update));
}

void Observer::flush_later() {
  if (listeners_ > 0 && !flush_timer_.armed()) flush_timer_.arm(kFlushAfter, [this] { flush(); });
}

void Observer::flush() {
  flush_timer_.cancel();
  auto changed = std::exchange(changed_, {});
  auto decided = std::exchange(decided_, {});
  const bool reset = std::exchange(reset_, false);
  if (!listener_ || listeners_ == 0 || (changed.empty() && decided.empty() && !reset)) return;
  auto update = std::make_shared<Update>();
  update->now = loop_.wall_now();
  if (subject_) update->version = subject_->replica->state().topology().version().value();
  update->reset = reset;
  update->decisions = std::move(decided);
  for (auto& [id, row] : changed) {
    if (row) {
      update->upserts.push_back(std::move(*row));
    } else {
      update->removed.push_back(id);
    }
  }
  listener_(std::move(update));
}

std::vector<ServerRow> Observer::servers(const LeaderView& leader) const {
  std::vector<ServerRow> rows;
  const auto sightings = subject_->sightings();
  const rlog::ReplicatedLog& log = subject_->replica->log();
  const std::uint64_t head = log.head_seen().value();
  for (const auto& [id, server] : subject_->replica->state().servers()) {
    ServerRow row{id, server.address, "unknown", {}, {}, {}, server.version};
    const auto seen = sightings.find(id);
    if (id == options_.server) {
      row.role = "follower";
      row.applied_index = log.applied().value();
      row.last_seen = 0s;
    } else if (seen != sightings.end()) {
      // A leader knows nothing yet of one that has not announced itself in its term.
      if (seen->second.applied > 0) row.applied_index = seen->second.applied;
      row.last_seen = seen->second.ago;
      row.role = role_of(seen->second.presence());
    } else if (id == leader.id) {
      row.applied_index = head;
    }
    if (id == leader.id) row.role = "leader";
    if (row.applied_index) row.lag_entries = head - std::min(head, *row.applied_index);
    rows.push_back(std::move(row));
  }
  return rows;
}

cluster::Verdict Observer::verdict() const {
  if (stopping_) return {false, "this server is stopping"};
  cluster::HealthSight sight;
  if (options_.refuses_all) sight.refuses_all = options_.refuses_all();
  sight.waiting = not_ready_;
  sight.engine = options_.engine;
  if (options_.engine_trouble) sight.engine_trouble = options_.engine_trouble();
  if (subject_) {
    const LeaderView leader = subject_->leader();
    sight.age = subject_->replica->age();
    sight.leader_known = !leader.id.empty();
    const std::string said = subject_->engine_trouble ? subject_->engine_trouble() : "";
    if (!said.empty() && sight.engine_trouble.empty()) {
      sight.engine_trouble = cluster::store_trouble(options_.engine, said);
    }
    for (const auto& [id, sighting] : subject_->sightings()) {
      const bool there = id == options_.server || id == leader.id;
      sight.servers[id] = there ? cluster::Presence::kPresent : sighting.presence();
    }
  }
  return judge(sight);
}

Overview Observer::overview() const {
  Overview o;
  o.server = options_.server;
  o.engine = options_.engine;
  o.now = loop_.wall_now();
  o.verdict = verdict();
  if (options_.engine_health) o.engine_health = options_.engine_health();
  if (!subject_) return o;
  const ReplicatedState& replica = *subject_->replica;
  const cluster::ClusterState& state = replica.state();
  const LeaderView leader = subject_->leader();
  o.version = state.topology().version().value();
  o.stale = leader.self ? Duration(0) : replica.age();
  o.log_head = replica.log().head_seen().value();
  o.log_id = replica.log().log_id();
  o.nodes = state.topology().size();
  o.watchers = subject_->watchers();
  for (const auto each : {membership::NodeState::kJoining, membership::NodeState::kActive,
                          membership::NodeState::kSuspect, membership::NodeState::kDraining,
                          membership::NodeState::kDown}) {
    o.counts[each] = state.topology().count(each);
  }
  const std::string trouble = subject_->engine_trouble ? subject_->engine_trouble() : "";
  if (o.engine_health.empty()) {
    o.engine_health = replica.age() > cluster::kOutOfTouch
                          ? "has not answered for " + format_duration(replica.age())
                      : trouble.empty() ? std::string("answers")
                                        : std::string("fails");
  }
  // The verdict is for anybody and leaves out the paths that a store names; this does not.
  if (!trouble.empty()) o.engine_health += ": " + trouble;
  if (!leader.id.empty()) {
    const auto last = state.decisions().last_about(cluster::kServersSubject);
    const bool known = last && last->to == leader.id;
    o.leader = LeaderRow{leader.id, leader.address, leader.epoch.value(),
                         known ? last->at : WallTime{}, known ? cluster::sentence(*last) : ""};
  }
  o.servers = servers(leader);
  return o;
}

NodeRows Observer::rows() {
  // Heartbeats change rows without a change of version, but nobody needs them by the millisecond.
  if (rows_ && loop_.now() - rows_made_ < kRowsKept) return rows_;
  auto made = std::make_shared<std::vector<NodeRow>>();
  const membership::Topology& topology = subject_->replica->state().topology();
  made->reserve(topology.size());
  const membership::LogTime now = subject_->replica->log_now();
  topology.for_each(
      [&](const membership::NodeEntry& node) { made->push_back(to_row(node, topology, now)); });
  std::sort(made->begin(), made->end(),
            [](const NodeRow& a, const NodeRow& b) { return a.id < b.id; });
  rows_ = std::move(made);
  rows_made_ = loop_.now();
  rows_version_ = topology.version().value();
  return rows_;
}

std::vector<NamespaceRow> Observer::namespaces() const {
  std::vector<NamespaceRow> rows;
  const cluster::ClusterState& cluster = subject_->replica->state();
  const membership::LogTime now = subject_->replica->log_now();
  for (const auto& [key, name] : cluster.elections()) {
    if (rows.size() == kNamespacesMax) break;
    const cluster::KvEntry* entry = cluster.kv().find(key);
    const auto state = decode_leader_state(*entry->value);
    if (!state) continue;
    const Duration age =
        membership::log_age(now, entry->written_at, std::max(state->lease, Duration(1s)));
    rows.push_back({name, state->leader ? state->leader->value() : "", state->epoch.value(),
                    state->leader ? std::max(Duration(0), state->lease - age) : Duration(0),
                    state->workers.size(), state->elected_at});
  }
  return rows;
}

void Observer::set_levels() {
  Metrics::Levels levels;
  if (options_.levels) options_.levels(levels);
  levels.event_streams = static_cast<double>(listeners_);
  levels.role = "candidate";
  if (subject_) {
    const ReplicatedState& replica = *subject_->replica;
    const membership::Topology& topology = replica.state().topology();
    const LeaderView leader = subject_->leader();
    levels.topology_version = topology.version().value();
    for (const auto each : {membership::NodeState::kJoining, membership::NodeState::kActive,
                            membership::NodeState::kSuspect, membership::NodeState::kDraining,
                            membership::NodeState::kDown}) {
      levels.nodes_by_state[to_string(each)] = static_cast<double>(topology.count(each));
    }
    topology.for_each([&](const membership::NodeEntry& node) {
      levels.nodes_by_service[std::string(service_of(node))] += 1;
      if (node.suspected_at.size() < options_.membership.flap_threshold) return;
      const auto now = timeouts_in_force(node, topology.log_time(), options_.membership);
      if (now.damped) levels.nodes_damped += 1;
    });
    const membership::Verdict held = subject_->held();
    levels.held_by_grace = static_cast<double>(held.held_by_grace);
    levels.held_by_brake = static_cast<double>(held.held_by_brake);
    levels.watchers = static_cast<double>(subject_->watchers());
    levels.watch_lag = static_cast<double>(subject_->watch_lag());
    if (subject_->campaigns) {
      levels.campaigns = static_cast<double>(subject_->campaigns());
      levels.campaigns_leading = static_cast<double>(subject_->campaigns_leading());
    }
    if (subject_->locks_held) {
      levels.locks_held = static_cast<double>(subject_->locks_held());
      levels.locks_waited_for = static_cast<double>(subject_->locks_waited_for());
    }
    levels.term = static_cast<double>(leader.epoch.value());
    if (!leader.id.empty()) levels.role = leader.self ? "leader" : "follower";
    levels.head_index = static_cast<double>(replica.log().head_seen().value());
    levels.applied_index = static_cast<double>(replica.log().applied().value());
    const auto in_seconds = [](Duration d) { return std::chrono::duration<double>(d).count(); };
    levels.staleness_s = leader.self ? 0 : in_seconds(replica.age());
    levels.lease_left_s = in_seconds(subject_->lease_left());
    levels.decisions = static_cast<double>(replica.state().decisions().size());
  }
  metrics_.set(levels);
}

Picture Observer::look(const Query& query) {
  if (query.flush) flush();
  if (query.metrics) set_levels();
  Picture picture;
  picture.overview = overview();
  picture.series = series_.last(query.series);
  if (query.series == 0s) picture.series.clear();
  if (!subject_) {
    picture.nodes = std::make_shared<const std::vector<NodeRow>>();
    return picture;
  }
  const cluster::ClusterState& state = subject_->replica->state();
  const cluster::DecisionLog& log = state.decisions();
  picture.ring = state.topology().ring();
  picture.oldest_decision = log.complete_from();
  picture.newest_decision = log.newest();
  if (query.nodes) {
    picture.nodes = rows();
    picture.nodes_version = rows_version_;
  }
  if (query.namespaces) picture.namespaces = namespaces();
  if (query.about) {
    picture.decisions = log.about(*query.about);
  } else if (query.decisions) {
    picture.decisions = query.decisions->since
                            ? log.after(*query.decisions->since, query.decisions->limit)
                            : log.last(query.decisions->limit);
  }
  return picture;
}

}  // namespace muster::server
