#include "store/remote/endpoint.h"

#include <utility>

#include "base/text.h"

namespace muster::remote {
namespace {

constexpr std::string_view kLocal = "unix:";

bool names_port(const std::string& host) {
  const auto colon = host.rfind(':');
  const auto bracket = host.rfind(']');
  return colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
}

}  // namespace

Result<Endpoint> Endpoint::parse(const std::string& text) {
  if (text.starts_with(kLocal)) return Endpoint{text, 0};
  const auto colon = text.rfind(':');
  const auto port =
      names_port(text) ? parse_unsigned(std::string_view(text).substr(colon + 1)) : std::nullopt;
  if (colon == 0 || !port || *port == 0 || *port > 65535) {
    return {Errc::kInvalid, text + " is not host:port"};
  }
  return Endpoint{text.substr(0, colon), static_cast<std::uint16_t>(*port)};
}

std::string Endpoint::name() const {
  if (host.starts_with(kLocal)) return "localhost";
  if (host.starts_with('[') && host.ends_with(']')) return host.substr(1, host.size() - 2);
  return host;
}

Result<std::vector<std::string>> with_ports(const std::vector<std::string>& hosts,
                                            std::string_view port) {
  std::vector<std::string> endpoints;
  for (const std::string& host : hosts) {
    std::string endpoint = names_port(host) ? host : host + ":" + std::string(port);
    if (const auto parsed = Endpoint::parse(endpoint); !parsed) return parsed.error();
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

}  // namespace muster::remote
