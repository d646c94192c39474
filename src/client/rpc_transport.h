#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "client/transport.h"
#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"

namespace muster::client {

/// The network: gRPC's protocol on one thread for everything, a connection of its own to each
/// server, nothing sent twice unless the caller says so. Destroyed by another thread than its
/// loop's, after its connections and calls; what was posted and has not run by then is dropped.
class RpcTransport final : public Transport {
 public:
  /// kInvalid when the files are not what they should be.
  [[nodiscard]] static Result<std::unique_ptr<RpcTransport>> open(const TlsFiles& tls);
  ~RpcTransport() override;

  [[nodiscard]] EventLoop& loop() override { return thread_.loop(); }
  [[nodiscard]] LoopThread& thread() { return thread_; }
  [[nodiscard]] std::unique_ptr<Connection> connect(const std::string& server) override;

 private:
  struct Shared;
  explicit RpcTransport(std::unique_ptr<Shared> shared);

  LoopThread thread_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace muster::client
