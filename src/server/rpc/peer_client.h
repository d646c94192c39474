#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/loop.h"
#include "rpc/call.h"
#include "rpc/status.h"
#include "server/rpc/completion.h"

// Only the files of this folder that end in .cc include this: it brings gRPC's headers.
namespace muster::rpc {

/// Asks other servers, one connection each. A request is handed to gRPC only when the connection
/// stands, so that "never left" is a fact. Nothing is sent twice. Loop thread only.
class PeerClient {
 public:
  using Done = std::function<void(RpcStatus, std::string)>;

  PeerClient(Loop& loop, grpc::CompletionQueue* queue, std::string server_id,
             std::shared_ptr<grpc::ChannelCredentials> credentials);
  ~PeerClient() { close(); }
  PeerClient(const PeerClient&) = delete;
  PeerClient& operator=(const PeerClient&) = delete;

  void call(const std::string& address, const std::string& method, std::string request,
            Duration timeout, Done done, Metadata metadata = {});
  /// Whoever is asked from now on shows a certificate first; what is under way goes on.
  void forget() { channels_.clear(); }
  /// Cancels what is under way; no `done` is called afterwards.
  void close();
  /// Nothing of it is left with gRPC. Only after close().
  [[nodiscard]] bool ended() const { return operations_ == 0; }

 private:
  struct PeerCall;
  using Shared = std::shared_ptr<PeerCall>;

  void proceed(const Shared& call);
  void connected(const Shared& call);
  void answered(const Shared& call);
  void complete(const Shared& call, RpcStatus status, std::string answer);

  Loop& loop_;
  grpc::CompletionQueue* queue_;
  std::string server_id_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;
  std::unordered_set<Shared> calls_;
  bool closed_ = false;
  std::size_t operations_ = 0;  ///< That gRPC has not completed.
  Lifetime lifetime_;
};

}  // namespace muster::rpc
