#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "platform/http/http_client.h"
#include "platform/http/proxy.h"
#include "platform/http/url.h"

namespace muster::http {

/// Where a request goes, and by which way.
struct Route {
  Url url;
  std::optional<Url> proxy{};

  /// Whether requests with TLS go through a tunnel that a proxy has made.
  [[nodiscard]] bool tunnel() const { return proxy && url.tls; }
  /// What opens the connection: the proxy, or the host itself.
  [[nodiscard]] const Url& next_hop() const { return proxy ? *proxy : url; }
  /// Requests with the same key may use each other's connections.
  [[nodiscard]] std::string key() const;
};

/// kInvalid when the address, or the proxy that the environment names for it, cannot be used.
[[nodiscard]] Result<Route> route_of(const HttpRequest& request, const Environment& environment);

/// Head and body, as they are sent. kInvalid when a header would break the head.
[[nodiscard]] Result<std::string> request_bytes(const HttpRequest& request, const Route& route);
/// What asks a proxy for a tunnel.
[[nodiscard]] std::string connect_bytes(const Route& route);

}  // namespace muster::http
