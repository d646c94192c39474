#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/terminal.h"
#include "client/coordinator_client.h"

namespace CLI {
class App;
}

namespace muster::cli {

/// Which musterd to ask, and how: the options that all commands of the topology service share.
struct ServerOptions {
  std::string servers = "127.0.0.1:9000";
  TlsFiles tls;
  Duration timeout = 10s;
  Duration attempt_timeout = client::RetryConfig().attempt_timeout;

  /// --server, the TLS files and --timeout.
  void declare(CLI::App& app);
  [[nodiscard]] Result<std::unique_ptr<client::SmartCoordinatorClient>> open() const;
  [[nodiscard]] client::CallOptions call() const { return {timeout, {}}; }
};

/// How a command ends that a server did not do for it. What the servers refused is the answer
/// "no", with the reason on `err`; anything else is passed on.
[[nodiscard]] Result<int> refused(Terminal& terminal, const std::string& command,
                                  const Error& error);

}  // namespace muster::cli
