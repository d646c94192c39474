#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "client/completion_loop.h"
#include "client/transport.h"
#include "platform/pki/tls_files.h"

namespace muster::client {

/// gRPC: one thread for everything, a connection of its own to each server, nothing sent twice
/// unless the caller says so. Destroyed by another thread than its loop's, after its calls.
class GrpcTransport final : public Transport {
 public:
  /// kInvalid when the files are not what they should be.
  [[nodiscard]] static Result<std::unique_ptr<GrpcTransport>> open(const TlsFiles& tls);
  ~GrpcTransport() override;

  [[nodiscard]] CompletionLoop& loop() override { return loop_; }
  [[nodiscard]] std::unique_ptr<Connection> connect(const std::string& server) override;

 private:
  struct Credentials;
  explicit GrpcTransport(std::unique_ptr<Credentials> credentials);

  std::unique_ptr<Credentials> credentials_;
  CompletionLoop loop_;
};

}  // namespace muster::client
