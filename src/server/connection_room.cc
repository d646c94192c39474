#include "server/connection_room.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/log.h"
#include "platform/host.h"

namespace muster::server {
namespace {

constexpr std::int64_t kOwn = 512;
/// No client has more than this part of all connections.
constexpr std::size_t kShare = 4;

std::int64_t lobby_wanted() {
  const rpc::Anteroom::Options usual;
  return static_cast<std::int64_t>(usual.all_max + usual.waiting_max);
}

std::int64_t needed(const ServerConfig& config) {
  const rpc::ConnectionBudget::Options usual;
  return 2 * kOwn + lobby_wanted() + static_cast<std::int64_t>(usual.reserved_max) +
         std::int64_t{config.connections};
}

}  // namespace

ConnectionRoom divide_descriptors(const ServerConfig& config, int allowed) {
  ConnectionRoom room;
  const std::int64_t most = std::max<std::int64_t>(allowed / 2, allowed - kOwn);
  const std::int64_t lobby = std::min(lobby_wanted(), most / 4);
  room.anteroom.all_max = std::min(room.anteroom.all_max, static_cast<std::size_t>(lobby / 2));
  room.anteroom.waiting_max = static_cast<std::size_t>(lobby) - room.anteroom.all_max;
  room.descriptors_max = static_cast<int>(most);
  if (!config.limited) {
    room.clients.each_max = room.clients.all_max = std::numeric_limits<std::size_t>::max();
    return room;
  }
  room.descriptors_max = static_cast<int>(std::min(most, needed(config) - kOwn));
  const std::int64_t others = needed(config) - kOwn - config.connections;
  room.clients.all_max = static_cast<std::size_t>(
      std::min<std::int64_t>(config.connections, std::max(most / 2, most - others)));
  const std::size_t share = std::max<std::size_t>(1, room.clients.all_max / kShare);
  room.clients.each_max = std::min<std::size_t>(config.client_connections, share);
  return room;
}

ConnectionRoom connection_room(const ServerConfig& config) {
  const int allowed = raise_descriptor_limit();
  ConnectionRoom room = divide_descriptors(config, allowed);
  if (config.limited && room.clients.all_max < config.connections) {
    log_warn("the limit of open files allows fewer connections than limits_connections; raise it",
             {{"limit", std::to_string(allowed)},
              {"needed", std::to_string(needed(config))},
              {"connections", std::to_string(room.clients.all_max)}});
  }
  return room;
}

}  // namespace muster::server
