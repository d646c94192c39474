#include "cli/server_options.h"

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/options.h"

namespace muster::cli {

void ServerOptions::declare(CLI::App& app) {
  add_text(app, "--server", "HOST:PORT,…", servers,
           "Servers to ask, in this order until one answers");
  add_text(app, "--cacert", "FILE", tls.ca, "CA certificate that verifies the servers (PEM file)");
  add_text(app, "--cert", "FILE", tls.cert, "Client certificate (PEM file); requires --key");
  add_text(app, "--key", "FILE", tls.key, "Private key of --cert (PEM file)");
  add_duration(app, "--timeout", timeout, "Limit for the answer, all attempts together");
}

Result<std::unique_ptr<client::SmartCoordinatorClient>> ServerOptions::open() const {
  if (tls.cert.empty() != tls.key.empty()) {
    return {Errc::kInvalid, "--cert and --key belong together: give both or neither"};
  }
  if (timeout <= Duration(0)) return {Errc::kInvalid, "--timeout must be above zero"};
  auto list = client::parse_servers(servers);
  if (!list) return {Errc::kInvalid, "--server: " + list.error().message};
  client::RetryConfig retry;
  // One server among several may take its share of the time, and no more.
  retry.attempt_timeout = std::min(attempt_timeout, timeout / 2);
  auto client = client::SmartCoordinatorClient::create(std::move(*list), retry, tls);
  if (client) (*client)->explain_tls(1500ms);
  return client;
}

Result<int> refused(Terminal& terminal, const std::string& command, const Error& error) {
  switch (error.code) {
    case Errc::kNotFound:
    case Errc::kConflict:
    case Errc::kDenied:
    case Errc::kThrottled:
    case Errc::kUnsupported:
      terminal.err << "muster " + command + ": " + error.message + "\n";
      return kNo;
    default:
      return error;
  }
}

}  // namespace muster::cli
