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

/// What a client, its watches and its agents share: one thread, and the way to the servers.
/// run() and loop().post() are for any thread but the loop's own; caller() for the loop's.
class Runtime {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Runtime>> open(std::vector<std::string> servers,
                                                             const RetryConfig& retry,
                                                             const TlsFiles& tls);
  /// Cancels what is under way. Watches and agents are to be gone by then.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] EventLoop& loop() { return transport_->loop(); }
  [[nodiscard]] bool on_thread() const { return transport_->thread().on_thread(); }
  [[nodiscard]] Caller& caller() { return *caller_; }
  /// Why TLS keeps this client from its servers, after a call that reached none of them; none when
  /// that is not the reason. Blocks for up to `limit`, the resolver apart: not for the loop's
  /// thread.
  [[nodiscard]] std::optional<std::string> diagnose_tls(Duration limit) const;
  /// Runs `task` on the loop and waits for it; at once when this is the loop's thread.
  void run(const std::function<void()>& task);

 private:
  Runtime(std::unique_ptr<RpcTransport> transport, std::vector<std::string> servers, TlsFiles tls)
      : servers_(std::move(servers)), tls_(std::move(tls)), transport_(std::move(transport)) {}

  const std::vector<std::string> servers_;
  const TlsFiles tls_;
  std::unique_ptr<RpcTransport> transport_;
  std::unique_ptr<Caller> caller_;
};

/// "host:port,host:port" as a list. kInvalid names what is wrong with which of them.
[[nodiscard]] Result<std::vector<std::string>> parse_servers(const std::string& text);

}  // namespace muster::client
