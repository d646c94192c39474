#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "client/transport.h"
#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"

namespace muster::client {

/// The network: gRPC's protocol on one thread for everything, with one connection to each server.
/// Nothing is sent twice unless the caller says so. Its loop's thread must not destroy it; its
/// connections and calls end first, and posted tasks that have not run by then are dropped.
class RpcTransport final : public Transport {
 public:
  /// Returns kInvalid if the files are invalid.
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
