#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "server/rpc/rpc_server.h"

// Only the files of this folder that end in .cc include this: it brings gRPC's headers.
namespace muster::rpc {

/// What gRPC needs to listen, and to connect to other servers.
struct Credentials {
  std::shared_ptr<grpc::ServerCredentials> server;
  std::shared_ptr<grpc::ChannelCredentials> channel;
};

[[nodiscard]] Credentials plaintext();
/// Both empty when require_tls13() was not called: TLS 1.2 would be let in.
[[nodiscard]] Credentials tls(const RpcTls& options);

}  // namespace muster::rpc
