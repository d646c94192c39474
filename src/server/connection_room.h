#pragma once

#include "rpc/anteroom.h"
#include "rpc/connection_budget.h"
#include "server/config/config.h"

namespace muster::server {

/// How many connections a server accepts, and how many descriptors they may have in all.
struct ConnectionRoom {
  rpc::ConnectionBudget::Options clients;
  rpc::Anteroom::Options anteroom;
  int descriptors_max = 0;
};

/// Divides `allowed` descriptors (the limit of open files). A part is for the server's own files,
/// its engine and HTTP: no client, with a certificate or not, may cost the leader its lease. A part
/// is for connections whose TLS handshake is not done, so that these do not keep clients out. Fewer
/// descriptors than needed make less room.
[[nodiscard]] ConnectionRoom divide_descriptors(const ServerConfig& config, int allowed);
/// The same with this process's limit, which it raises; warns if that leaves less room than
/// `config` wants.
[[nodiscard]] ConnectionRoom connection_room(const ServerConfig& config);

}  // namespace muster::server
