#include "core/cluster/cluster_state.h"

#include <utility>
#include <variant>

namespace muster::cluster {

Result<Applied> ClusterState::apply(std::string_view bytes, const Place& place) {
  if (place.position >= std::size_t{1} << kPositionBits) {
    return {Errc::kUnsupported,
            "an entry of the log holds more commands than this server can tell "
            "apart; upgrade this server before it can go on"};
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
  } else {
    applied.answer = on(std::get<ForgetServer>(*command));
  }
  if (applied.answer) applied.answer->version = topology_.version();
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
  if (!result.outcome) return result.outcome.error();
  return Answer{{}, *result.outcome, 0};
}

Result<Answer> ClusterState::on(const StorePut& command, const Place& place) {
  if (Status s = kv_.check(command.key, command.when); !s) return s.error();
  if (command.guard) {
    if (Status s = kv_.check(command.guard->key, command.guard->when); !s) return s.error();
  }
  const KvRevision revision = kv_revision(place.index, place.position);
  kv_.put(command.key, command.value, revision, place.time);
  return Answer{{}, {}, revision};
}

Result<Answer> ClusterState::on(const StoreRemove& command, const Place& place) {
  if (kv_.find(command.key) == nullptr) {
    return {Errc::kNotFound, "the key \"" + command.key + "\" does not exist"};
  }
  if (Status s = kv_.check(command.key, command.when); !s) return s.error();
  const KvRevision revision = kv_revision(place.index, place.position);
  kv_.remove(command.key, revision, place.time);
  return Answer{{}, {}, revision};
}

Result<Answer> ClusterState::on(const AnnounceServer& command, const Place& place) {
  servers_[command.id] = {command.address, command.version, command.level, place.time,
                          command.unknown};
  return Answer{};
}

Result<Answer> ClusterState::on(const ForgetServer& command) {
  if (servers_.erase(command.id) == 0) {
    return {Errc::kNotFound, "no server " + command.id + " has announced itself"};
  }
  return Answer{};
}

}  // namespace muster::cluster
