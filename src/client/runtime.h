#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/caller.h"
#include "client/rpc_transport.h"

namespace muster::client {

/// State shared by a client, its watches and its agents: one thread, and the connections to the
/// servers. Threads: run() and loop().post() any but the loop's own; caller() the loop's.
class Runtime {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Runtime>> open(std::vector<std::string> servers,
                                                             const RetryConfig& retry,
                                                             const TlsFiles& tls);
  /// Cancels calls under way. Watches and agents must be gone by then.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] EventLoop& loop() { return transport_->loop(); }
  [[nodiscard]] bool on_thread() const { return transport_->thread().on_thread(); }
  [[nodiscard]] Caller& caller() { return *caller_; }
  /// After a call that reached no server: why TLS keeps this client from its servers, or none if
  /// TLS is not the reason. Blocks for up to `limit`, not counting the resolver: not for the loop's
  /// thread.
  [[nodiscard]] std::optional<std::string> diagnose_tls(Duration limit) const;
  /// Runs `task` on the loop and waits for it; at once on the loop's thread.
  void run(const std::function<void()>& task);

 private:
  Runtime(std::unique_ptr<RpcTransport> transport, std::vector<std::string> servers, TlsFiles tls)
      : servers_(std::move(servers)), tls_(std::move(tls)), transport_(std::move(transport)) {}

  const std::vector<std::string> servers_;
  const TlsFiles tls_;
  std::unique_ptr<RpcTransport> transport_;
  std::unique_ptr<Caller> caller_;
};

/// Parses "host:port,host:port". kInvalid names the wrong part and the reason.
[[nodiscard]] Result<std::vector<std::string>> parse_servers(const std::string& text);

}  // namespace muster::client
