#include "server/web/api_json.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "server/web/build_info.h"

namespace muster::server {
namespace {

std::int64_t ms(Duration d) {
  return std::max<std::int64_t>(0, to_ms(d));
}

Json value_of(const std::optional<double>& value) {
  if (!value) return nullptr;
  return std::round(*value * 1000) / 1000;
}

/// Null when it is not known.
Json known(const std::optional<std::uint64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Transitions name states, which are in lower case here.
std::string side(const cluster::Decision& d, const std::string& text) {
  return d.kind == cluster::DecisionKind::kTransition ? to_lower(text) : text;
}

}  // namespace

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json beginning(const Overview& o) {
  return {{"server", o.server}, {"version", o.version}, {"staleMs", ms(o.stale)}};
}

Json with(const Picture& picture, const Json& more) {
  Json json = beginning(picture.overview);
  json.update(more);
  return json;
}

Json to_json(const Overview& o) {
  Json json = beginning(o);
  Json leader = nullptr;
  if (o.leader) {
    leader = {{"id", o.leader->id},
              {"address", o.leader->address},
              {"epoch", o.leader->epoch},
              {"sinceMs", to_ms(o.leader->since)},
              {"why", o.leader->why}};
  }
  json["cluster"] = {{"leader", std::move(leader)},
                     {"engine", o.engine},
                     {"engineHealth", o.engine_health},
                     {"logHead", o.log_head},
                     {"logId", o.log_id}};
  Json servers = Json::array();
  for (const ServerRow& row : o.servers) {
    servers.push_back({{"id", row.id},
                       {"address", row.address},
                       {"role", row.role},
                       {"epoch", o.leader ? o.leader->epoch : 0},
                       {"appliedIndex", known(row.applied_index)},
                       {"lagEntries", known(row.lag_entries)},
                       {"lastSeenMs", row.last_seen ? Json(ms(*row.last_seen)) : Json(nullptr)},
                       {"version", row.version}});
  }
  json["servers"] = std::move(servers);
  Json counts = Json::object();
  for (const auto state : {membership::NodeState::kJoining, membership::NodeState::kActive,
                           membership::NodeState::kSuspect, membership::NodeState::kDraining,
                           membership::NodeState::kDown}) {
    const auto found = o.counts.find(state);
    counts[to_lower(to_string(state))] = found == o.counts.end() ? 0 : found->second;
  }
  counts["total"] = o.nodes;
  json["counts"] = std::move(counts);
  json["watchers"] = o.watchers;
  json["health"] = {{"healthy", o.verdict.healthy}, {"reason", o.verdict.reason}};
  json["build"] = {{"version", build_info().version}, {"commit", build_info().commit}};
  return json;
}

Json to_json(const NodeRow& row, const Shares& shares) {
  const auto share = shares.find(row.id);
  return {{"id", row.id},
          {"type", to_lower(to_string(row.type))},
          {"service", service_of(row)},
          {"tags", row.tags.empty() ? Json::object() : Json(row.tags)},
          {"address", row.address},
          {"port", row.port},
          {"state", to_lower(to_string(row.state))},
          {"generation", row.generation},
          {"slot", row.slot},
          {"lastHeartbeatAgeMs", to_ms(row.heartbeat_age)},
          {"flaps", row.flaps},
          {"registeredAtMs", to_ms(row.registered_at)},
          {"stateSinceMs", to_ms(row.state_since)},
          {"stateAgeMs", to_ms(row.state_age)},
          {"share", share == shares.end() ? 0.0 : share->second}};
}

Json to_json(const cluster::Decision& d) {
  return {{"seq", d.seq},
          {"atMs", to_ms(d.at)},
          {"kind", to_string(d.kind)},
          {"subject", d.subject},
          {"from", side(d, d.from)},
          {"to", side(d, d.to)},
          {"cause", to_string(d.why)},
          {"text", cluster::sentence(d)},
          {"epoch", d.epoch}};
}

Json to_json(const NamespaceRow& row) {
  return {
      {"name", row.name},       {"leader", row.leader.empty() ? Json(nullptr) : Json(row.leader)},
      {"epoch", row.epoch},     {"leaseLeftMs", ms(row.lease_left)},
      {"workers", row.workers}, {"sinceMs", to_ms(row.since)}};
}

Json to_json(const Sample& sample) {
  Json json{{"atMs", to_ms(sample.at)}};
  for (std::size_t i = 0; i < kLines; ++i) {
    json[to_string(static_cast<Line>(i))] = value_of(sample.values[i]);
  }
  return json;
}

Json series_json(const std::vector<Sample>& samples) {
  Json series = Json::object();
  for (std::size_t i = 0; i < kLines; ++i) {
    Json line = Json::array();
    for (const Sample& sample : samples) line.push_back(value_of(sample.values[i]));
    series[to_string(static_cast<Line>(i))] = std::move(line);
  }
  return series;
}

Json to_json(const RingPicture& ring, std::size_t points_max) {
  Json nodes = Json::array();
  for (const RingPicture::Member& member : ring.members) {
    nodes.push_back({{"id", member.id}, {"share", member.share}, {"flagged", member.flagged}});
  }
  Json points = Json::array();
  const std::size_t count = std::min(points_max, ring.points.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [position, member] = ring.points[i * ring.points.size() / count];
    points.push_back({std::ldexp(static_cast<double>(position), -64), member});
  }
  return {{"nodes", std::move(nodes)},
          {"points", std::move(points)},
          {"thinned", count < ring.points.size()}};
}

Json to_json(const RingPlan& plan, std::size_t moves_max) {
  Json moves = Json::array();
  for (const RingPlan::Move& move : plan.moves) {
    if (moves.size() == moves_max) break;
    moves.push_back({{"from", move.from}, {"to", move.to}, {"share", move.share}});
  }
  return {{"movedShare", plan.moved}, {"moves", std::move(moves)}};
}

}  // namespace muster::server
