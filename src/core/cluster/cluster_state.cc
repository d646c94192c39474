#include "core/cluster/cluster_state.h"

#include <optional>
#include <utility>
#include <variant>

namespace muster::cluster {
namespace {

/// A key of the coordinator's layout.
struct CoordinatorKey {
  std::string name_space;   ///< With what stands before it: muster://host/app has the prefix app/.
  std::string_view within;  ///< The rest of the key.
};

std::optional<CoordinatorKey> coordinator_key(std::string_view key) {
  constexpr std::string_view kHead = "plugin=coordinator/namespace=";
  const auto at = key.find(kHead);
  if (at == key.npos || (at > 0 && key[at - 1] != '/')) return {};
  const std::size_t begin = at + kHead.size();
  const std::size_t end = key.find('/', begin);
  if (end == key.npos || end == begin) return {};
  return CoordinatorKey{
      std::string(key.substr(0, at)) + std::string(key.substr(begin, end - begin)),
      key.substr(end + 1)};
}

}  // namespace

Result<Applied> ClusterState::apply(std::string_view bytes, const Place& place) {
  if (place.position >= std::size_t{1} << kPositionBits) {
    return {Errc::kUnsupported,
            "an entry of the log holds more commands than this server supports; upgrade this "
            "server"};
  }
  Result<Command> command = decode(bytes);
  if (!command) return command.error();
  Applied applied{Answer{}, {}};
  if (const auto* change = std::get_if<ChangeTopology>(&*command)) {
    applied.answer = on(*change, place, applied.events);
  } else if (const auto* put = std::get_if<StorePut>(&*command)) {
    applied.answer = on(*put, place);
  } else if (const auto* remove = std::get_if<StoreRemove>(&*command)) {
    applied.answer = on(*remove, place);
  } else if (const auto* announce = std::get_if<AnnounceServer>(&*command)) {
    applied.answer = on(*announce, place);
  } else if (const auto* forget = std::get_if<ForgetServer>(&*command)) {
    applied.answer = on(*forget, place);
  } else {
    applied.answer = on(std::get<Note>(*command), place);
  }
  if (applied.answer) {
    applied.answer->version = topology_.version();
    applied.answer->index = place.index;
  }
  return applied;
}

const ServerEntry* ClusterState::server(const std::string& id) const {
  const auto found = servers_.find(id);
  return found == servers_.end() ? nullptr : &found->second;
}

Result<Answer> ClusterState::on(const ChangeTopology& command, const Place& place,
                                std::vector<membership::Event>& events) {
  membership::ApplyResult result = topology_.apply(command.command, place.time);
  events = std::move(result.events);
  for (const membership::Event& event : events) {
    decide(describe(event, command.command, command.reason), topology_.log_time());
  }
  if (!result.outcome) return result.outcome.error();
  return Answer{{}, *result.outcome, 0, 0};
}

Result<Answer> ClusterState::on(const StorePut& command, const Place& place) {
  if (Status s = kv_.check(command.key, command.when); !s) return s.error();
  if (command.guard) {
    if (Status s = kv_.check(command.guard->key, command.guard->when); !s) return s.error();
  }
  if (auto decided = describe_put(command, place.time)) {
    decide(std::move(*decided), place.time);
  }
  const KvRevision revision = kv_revision(place.index, place.position);
  kv_.put(command.key, command.value, revision, place.time);
  index(command.key);
  return Answer{{}, {}, revision, 0};
}

/// What a put decides, if anything: who leads a namespace, or that a worker is back.
std::optional<Decision> ClusterState::describe_put(const StorePut& put, LogTime now) const {
  const auto key = coordinator_key(put.key);
  if (!key) return {};
  const KvEntry* entry = kv_.find(put.key);
  const std::string_view before = entry == nullptr ? std::string_view() : *entry->value;
  if (key->within == "state.json") {
    // What was written in an earlier term has stood for longer than log time tells.
    std::optional<Duration> stood_for;
    if (entry != nullptr && entry->written_at >= leadership_.since) {
      stood_for = now - entry->written_at;
    }
    return describe_election(key->name_space, before, put.value, stood_for);
  }
  if (!key->within.starts_with("workers/")) return {};
  return describe_outage(key->name_space, before, put.value);
}

void ClusterState::index(const std::string& key) {
  const auto parts = coordinator_key(key);
  if (parts && parts->within == "state.json") elections_.emplace(key, parts->name_space);
}

Result<Answer> ClusterState::on(const StoreRemove& command, const Place& place) {
  if (kv_.find(command.key) == nullptr) {
    return {Errc::kNotFound, "the key \"" + command.key + "\" does not exist"};
  }
  if (Status s = kv_.check(command.key, command.when); !s) return s.error();
  const KvRevision revision = kv_revision(place.index, place.position);
  kv_.remove(command.key, revision, place.time);
  elections_.erase(command.key);
  return Answer{{}, {}, revision, 0};
}

Result<Answer> ClusterState::on(const AnnounceServer& command, const Place& place) {
  ServerEntry& server = servers_[command.id];
  if (server.address != command.address || server.version != command.version) {
    Decision d;
    d.kind = DecisionKind::kServer;
    d.subject = command.id;
    d.why = Why::kAnnounced;
    d.detail = "at " + command.address + ", version " + command.version;
    decide(std::move(d), place.time);
  }
  server = {command.address, command.version, command.level, place.time, command.unknown};
  return Answer{};
}

Result<Answer> ClusterState::on(const ForgetServer& command, const Place& place) {
  if (servers_.erase(command.id) == 0) {
    return {Errc::kNotFound, "no server " + command.id + " has announced itself"};
  }
  Decision d;
  d.kind = DecisionKind::kServer;
  d.subject = command.id;
  d.why = Why::kForgotten;
  decide(std::move(d), place.time);
  return Answer{};
}

Result<Answer> ClusterState::on(const Note& command, const Place& place) {
  // The end of a term is told by the beginning of the next one.
  if (command.kind == DecisionKind::kLeader && command.why == Why::kResigned) {
    leadership_.resigned = command.detail;
    return Answer{};
  }
  Decision d;
  d.kind = command.kind;
  d.subject = command.subject;
  d.why = command.why;
  d.detail = command.detail;
  d.asked_by = command.asked_by;
  decide(std::move(d), place.time);
  return Answer{};
}

void ClusterState::begin_term(const std::string& server, Epoch epoch, LogTime time, WallTime wall) {
  Decision d;
  d.kind = DecisionKind::kLeader;
  d.subject = kServersSubject;
  d.from = leadership_.server;
  d.to = server;
  d.epoch = epoch.value();
  if (leadership_.server.empty()) {
    d.why = Why::kFirst;
  } else if (!leadership_.resigned.empty()) {
    d.why = Why::kResigned;
    d.detail = leadership_.resigned;
  } else {
    // The last entry of the one before is the last sign of it that everybody has seen.
    d.why = Why::kLeaseEnded;
    d.cause.emplace().last_heartbeat_at = topology_.label(topology_.log_time());
  }
  leadership_ = {server, epoch.value(), time, {}};
  pass_time(time, wall);
  decide(std::move(d), time);
}

void ClusterState::decide(Decision&& decision, LogTime at) {
  decision.at = topology_.label(at);
  if (decision.epoch == 0) decision.epoch = leadership_.epoch;
  // Some of it comes from bodies that anybody may write.
  for (std::string* text :
       {&decision.subject, &decision.from, &decision.to, &decision.asked_by, &decision.detail}) {
    if (text->size() > kDecisionTextMax) text->resize(kDecisionTextMax);
  }
  decisions_.add(std::move(decision));
}

}  // namespace muster::cluster
