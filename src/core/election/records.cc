#include "core/election/records.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_bounds.h"
#include "base/text.h"
#include "core/election/lease.h"

namespace muster {
namespace {

using Json = nlohmann::json;

// Beyond this a JSON number is not exact everywhere, and no honest epoch comes near it.
constexpr std::uint64_t kNumberMax = (1ULL << 53) - 1;
constexpr std::chrono::milliseconds kOutageMax = std::chrono::days(3650);

Error corrupt(const char* file, const std::string& why) {
  return {Errc::kCorrupt, std::string(file) + ": " + why};
}

std::optional<std::uint64_t> number(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_number()) return {};
  if (it->is_number_float()) {
    const double value = it->get<double>();
    if (!(value >= 0) || value > static_cast<double>(kNumberMax) || value != std::floor(value)) {
      return {};
    }
    return static_cast<std::uint64_t>(value);
  }
  if (it->is_number_unsigned()) {
    const auto value = it->get<std::uint64_t>();
    return value <= kNumberMax ? std::optional(value) : std::nullopt;
  }
  const auto value = it->get<std::int64_t>();
  return value >= 0 ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
}

std::string raw_text(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// For text shown to people: a writer of the store must not be able to control terminals.
std::string text(const Json& json, const char* name) {
  return without_controls(raw_text(json, name));
}

bool flag(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_boolean() && it->get<bool>();
}

WallTime wall(const Json& json, const char* name) {
  return wall_from_ms(static_cast<std::int64_t>(number(json, name).value_or(0)));
}

// No more than `most`: a number from outside must not overflow a Duration.
Duration milliseconds(const Json& json, const char* name,
                      std::chrono::milliseconds most = kLeaseMax) {
  return std::min(std::chrono::milliseconds(number(json, name).value_or(0)), most);
}

Result<Json> parse_object(const char* file, std::string_view body) {
  if (Status s = check_json_bounds(body); !s) return corrupt(file, s.error().message);
  Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return corrupt(file, "the body is not a JSON object");
  return Result<Json>(std::move(json));
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Duration> lease_of(const Json& json) {
  const auto start = number(json, "leaseStart");
  auto end = number(json, "leaseEnd");
  if (!end) end = number(json, "leaseExpiresAt");
  if (!start || !end) return Duration(0);
  if (*end < *start) return corrupt("state.json", "the lease ends before it starts");
  const std::chrono::milliseconds lease(*end - *start);
  if (lease > kLeaseMax) return corrupt("state.json", "the lease is longer than a day");
  return Duration(lease);
}

std::optional<Outage> outage_of(const Json& json) {
  const auto it = json.find("outage");
  if (it == json.end() || !it->is_object()) return {};
  const auto failures = number(*it, "failures");
  const auto opened = number(*it, "opened");
  if (!failures || !opened || *opened == 0) return {};
  return Outage{wall(*it, "since"), milliseconds(*it, "lasted", kOutageMax), *failures, *opened};
}

}  // namespace

std::string encode(const LeaderState& state) {
  Json json;
  json["leaderId"] = state.leader ? Json(state.leader->value()) : Json(nullptr);
  json["epoch"] = state.epoch.value();
  const auto start = to_ms(state.written_at);
  const auto end = start + to_ms(state.lease);
  json["leaseStart"] = start;
  json["leaseEnd"] = end;
  // A reader that only knows expiry times must see a released lease as over.
  json["leaseExpiresAt"] = state.released ? start : end;
  json["_expiresAt"] = state.released ? start : end;
  json["electedAt"] = to_ms(state.elected_at);
  json["electedBy"] = state.elected_by;
  json["leaderPod"] = state.leader_pod;
  json["incarnation"] = state.incarnation.value();
  json["nonce"] = state.nonce.value();
  Json workers = Json::array();
  for (const WorkerId& worker : state.workers) workers.push_back(worker.value());
  json["workers"] = std::move(workers);
  if (state.worker_timeouts > 0) json["workerTimeouts"] = state.worker_timeouts;
  if (state.released) {
    json["released"] = {{"workerId", state.released->worker.value()},
                        {"incarnation", state.released->incarnation.value()},
                        {"epoch", state.released->epoch.value()}};
  }
  if (state.preferred) json["preferred"] = state.preferred->value();
  if (!state.value.empty()) json["value"] = state.value;
  return dump(json);
}

Result<LeaderState> decode_leader_state(std::string_view body) {
  const auto parsed = parse_object("state.json", body);
  if (!parsed) return parsed.error();
  const Json& json = *parsed;
  LeaderState state;
  const auto epoch = number(json, "epoch");
  if (!epoch || Epoch(*epoch) > kEpochMax) {
    return corrupt("state.json",
                   "the epoch is not a whole number up to " + std::to_string(kEpochMax.value()));
  }
  state.epoch = Epoch(*epoch);
  const auto leader = json.find("leaderId");
  if (leader != json.end() && !leader->is_null()) {
    if (!leader->is_string()) return corrupt("state.json", "leaderId is not a string");
    if (has_controls(leader->get<std::string>())) {
      return corrupt("state.json", "leaderId holds control characters");
    }
    if (!leader->get<std::string>().empty()) state.leader = WorkerId(leader->get<std::string>());
  }
  const auto lease = lease_of(json);
  if (!lease) return lease.error();
  state.lease = *lease;
  state.incarnation = Incarnation(text(json, "incarnation"));
  state.nonce = Nonce(text(json, "nonce"));
  state.written_at = wall(json, "leaseStart");
  state.elected_at = wall(json, "electedAt");
  state.leader_pod = text(json, "leaderPod");
  state.elected_by = text(json, "electedBy");
  if (const auto it = json.find("workers"); it != json.end() && it->is_array()) {
    for (const Json& worker : *it) {
      if (!worker.is_string() || has_controls(worker.get<std::string>())) continue;
      state.workers.emplace_back(worker.get<std::string>());
    }
    std::sort(state.workers.begin(), state.workers.end());
  }
  state.worker_timeouts = number(json, "workerTimeouts").value_or(0);
  if (const auto it = json.find("released"); it != json.end() && it->is_object()) {
    state.released =
        ReleaseReceipt{WorkerId(text(*it, "workerId")), Incarnation(text(*it, "incarnation")),
                       Epoch(number(*it, "epoch").value_or(0))};
  }
  if (const std::string preferred = text(json, "preferred"); !preferred.empty()) {
    state.preferred = WorkerId(preferred);
  }
  state.value = raw_text(json, "value");
  return state;
}

Epoch salvage_epoch(std::string_view body) {
  // Not a parser: whatever follows "epoch" and looks like a number, quoted or not. Digits at the
  // very end may be the beginning of a larger one, and tell nothing.
  std::uint64_t highest = 0;
  for (auto at = body.find("\"epoch\""); at != std::string_view::npos;
       at = body.find("\"epoch\"", at + 1)) {
    std::size_t i = at + 7;
    while (i < body.size() && (body[i] == ' ' || body[i] == ':' || body[i] == '"')) ++i;
    const std::size_t start = i;
    while (i < body.size() && std::isdigit(static_cast<unsigned char>(body[i])) != 0) ++i;
    const auto value = parse_unsigned(body.substr(start, i - start));
    if (i < body.size() && value && Epoch(*value) <= kEpochMax) highest = std::max(highest, *value);
  }
  return Epoch(highest);
}

std::string encode(const NamespaceMetadata& metadata, std::string_view previous) {
  auto parsed = parse_object("metadata.json", previous);
  Json json = parsed ? std::move(*parsed) : Json::object();
  json["format"] = kMetadataFormat;
  json["epochFloor"] = metadata.epoch_floor.value();
  json["leaseMax"] = to_ms(metadata.lease_max);
  json["creator"] = metadata.creator;
  json["createdAt"] = to_ms(metadata.created_at);
  json["heartbeatInterval"] = to_ms(metadata.heartbeat_interval);
  json["leaseTimeout"] = to_ms(metadata.lease_timeout);
  json["workerTimeout"] = to_ms(metadata.worker_timeout);
  return dump(json);
}

Result<NamespaceMetadata> decode_metadata(std::string_view body) {
  const auto parsed = parse_object("metadata.json", body);
  if (!parsed) return parsed.error();
  const Json& json = *parsed;
  const auto format = number(json, "format");
  if (format && *format > kMetadataFormat) {
    return {Errc::kUnsupported, "metadata.json has format " + std::to_string(*format) +
                                    "; this build knows up to " + std::to_string(kMetadataFormat)};
  }
  NamespaceMetadata metadata;
  if (json.contains("epochFloor")) {
    const auto floor = number(json, "epochFloor");
    if (!floor || Epoch(*floor) > kEpochMax) {
      return corrupt("metadata.json",
                     "epochFloor is not a whole number up to " + std::to_string(kEpochMax.value()));
    }
    metadata.epoch_floor = Epoch(*floor);
  }
  metadata.lease_max = milliseconds(json, "leaseMax");
  metadata.creator = text(json, "creator");
  metadata.created_at = wall(json, "createdAt");
  metadata.heartbeat_interval = milliseconds(json, "heartbeatInterval");
  metadata.lease_timeout = milliseconds(json, "leaseTimeout");
  metadata.worker_timeout = milliseconds(json, "workerTimeout");
  return metadata;
}

std::string encode(const WorkerRecord& record) {
  Json json;
  json["workerId"] = record.worker.value();
  json["incarnation"] = record.incarnation.value();
  json["nonce"] = record.nonce.value();
  json["lastHeartbeat"] = to_ms(record.last_heartbeat);
  json["registeredAt"] = to_ms(record.registered_at);
  json["startTime"] = to_ms(record.registered_at);
  json["_expiresAt"] = to_ms(record.expires_at);
  json["pod"] = record.pod;
  json["pluginName"] = record.plugin_name;
  json["namespace"] = record.name_space;
  if (record.stopped) json["stopped"] = true;
  if (record.sweep) json["sweep"] = true;
  if (!record.aside.empty()) json["standsAside"] = record.aside;
  if (record.outage) {
    json["outage"] = {{"since", to_ms(record.outage->since)},
                      {"lasted", to_ms(record.outage->lasted)},
                      {"failures", record.outage->failures},
                      {"opened", record.outage->opened}};
  }
  return dump(json);
}

Result<WorkerRecord> decode_worker(std::string_view body) {
  const auto parsed = parse_object("worker file", body);
  if (!parsed) return parsed.error();
  const Json& json = *parsed;
  WorkerRecord record;
  record.worker = WorkerId(text(json, "workerId"));
  if (record.worker.value().empty()) return corrupt("worker file", "workerId is missing");
  record.incarnation = Incarnation(text(json, "incarnation"));
  record.nonce = Nonce(text(json, "nonce"));
  record.last_heartbeat = wall(json, "lastHeartbeat");
  record.registered_at = wall(json, "registeredAt");
  record.expires_at = wall(json, "_expiresAt");
  record.pod = text(json, "pod");
  record.plugin_name = text(json, "pluginName");
  record.name_space = text(json, "namespace");
  record.stopped = flag(json, "stopped");
  record.sweep = flag(json, "sweep");
  record.aside = text(json, "standsAside");
  record.outage = outage_of(json);
  return record;
}

std::optional<WorkerId> NamespaceKeys::worker_of(std::string_view key) const {
  constexpr std::string_view kBefore = "worker=";
  constexpr std::string_view kAfter = ".json";
  if (!key.starts_with(workers)) return {};
  key.remove_prefix(workers.size());
  if (!key.starts_with(kBefore) || !key.ends_with(kAfter)) return {};
  key.remove_prefix(kBefore.size());
  key.remove_suffix(kAfter.size());
  if (key.empty() || key.find('/') != std::string_view::npos || has_controls(key)) return {};
  return WorkerId(std::string(key));
}

std::optional<std::string> election_of(std::string_view key) {
  const std::string_view prefix = kElectionsPrefix;
  if (!key.starts_with(prefix)) return {};
  key.remove_prefix(prefix.size());
  const std::size_t end = key.find('/');
  if (end == key.npos || end == 0 || has_controls(key.substr(0, end))) return {};
  return std::string(key.substr(0, end));
}

Status validate_name(std::string_view what, std::string_view name) {
  const bool sized = !name.empty() && name.size() <= 128;
  const bool clean = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c < 0x80 &&
           (std::isalnum(c) != 0 ||
            std::string_view("-_.:@").find(static_cast<char>(c)) != std::string_view::npos);
  });
  if (sized && clean && name != "." && name != "..") return Done{};
  return {Errc::kInvalid, "the " + std::string(what) + " \"" + std::string(name) +
                              "\" must be 1 to 128 letters, digits or any of - _ . : @"};
}

}  // namespace muster
