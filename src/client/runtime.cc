#include "client/runtime.h"

#include <utility>

#include "base/text.h"
#include "client/tls_diagnosis.h"
#include "core/membership/validation.h"
#include "platform/system_clock.h"

namespace muster::client {
namespace {

/// "http://host:port" as people write it for other programs, and plain "host:port".
struct Address {
  std::string scheme;  ///< May be empty.
  std::string server;
};

Address parse_address(const std::string& text) {
  const std::size_t end = text.find("://");
  if (end == std::string::npos) return {"", text};
  Address address{text.substr(0, end), text.substr(end + 3)};
  if (address.server.ends_with('/')) address.server.pop_back();
  return address;
}

Status check_server(const std::string& text) {
  const auto wrong = [&](const std::string& what) {
    return Status(Errc::kInvalid, "\"" + text + "\" is not a server address: " + what +
                                      "; write host:port, such as 127.0.0.1:9000");
  };
  const auto [scheme, server] = parse_address(text);
  if (!scheme.empty() && scheme != "http" && scheme != "https") {
    return wrong("only http:// and https:// are allowed before it");
  }
  const std::size_t colon = server.rfind(':');
  if (colon == std::string::npos) return wrong("the port is missing");
  std::string host = server.substr(0, colon);
  const auto port = parse_unsigned(server.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return wrong("the port is not a number from 1 to 65535");
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (bracketed != membership::is_ipv6(host)) {
    return wrong("only an IPv6 address may be in brackets");
  }
  if (Status status = membership::validate_address(host); !status) {
    return wrong("the host is neither an address nor a host name");
  }
  return Done{};
}

/// What is dialled. A scheme that says otherwise than the files of TLS is a mistake.
Result<std::string> to_dial(const std::string& text, const TlsFiles& tls) {
  if (Status status = check_server(text); !status) return status.error();
  const auto [scheme, server] = parse_address(text);
  if (scheme == "https" && !tls.any()) {
    return invalid(text +
                   " uses TLS: give a CA certificate, a client certificate and its private "
                   "key");
  }
  if (scheme == "http" && tls.any()) {
    return invalid(text +
                   " does not use TLS, but a CA certificate, client certificate or private "
                   "key is given");
  }
  return server;
}

}  // namespace

Result<std::vector<std::string>> parse_servers(const std::string& text) {
  std::vector<std::string> servers;
  for (const std::string_view part : split(text, ',')) {
    servers.emplace_back(trim(part));
    if (Status status = check_server(servers.back()); !status) return status.error();
  }
  return servers;
}

Result<std::unique_ptr<Runtime>> Runtime::open(std::vector<std::string> servers,
                                               const RetryConfig& retry, const TlsFiles& tls) {
  if (servers.empty()) return {Errc::kInvalid, "no server is named; write host:port"};
  for (std::string& server : servers) {
    Result<std::string> address = to_dial(server, tls);
    if (!address) return address.error();
    server = *std::move(address);
  }
  if (Status status = retry.validate(); !status) return status.error();
  auto transport = RpcTransport::open(tls);
  if (!transport) return transport.error();
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(*transport), servers, tls));
  runtime->run([&] {
    runtime->caller_ =
        std::make_unique<Caller>(*runtime->transport_, std::move(servers), retry, system_random());
  });
  return runtime;
}

std::optional<std::string> Runtime::diagnose_tls(Duration limit) const {
  const MonoTime by = boot_now() + limit;
  for (const std::string& server : servers_) {
    const Duration left = by - boot_now();
    if (left <= Duration(0)) break;
    if (auto why = client::diagnose_tls(server, tls_, left)) return why;
  }
  return std::nullopt;
}

Runtime::~Runtime() {
  run([this] { caller_.reset(); });
}

void Runtime::run(const std::function<void()>& task) {
  if (on_thread()) return task();
  transport_->thread().run(task);
}

}  // namespace muster::client
