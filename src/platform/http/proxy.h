#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "platform/http/url.h"

namespace muster::http {

/// The value of a variable of the environment; empty when it is not set.
using Environment = std::function<std::string(const char*)>;

/// The proxy that the environment names for `url`, by the rules that other programs follow, curl
/// among them: http_proxy (in lower case only: as a CGI program, HTTP_PROXY comes from the client
/// that asks), https_proxy or HTTPS_PROXY, then all_proxy or ALL_PROXY, unless no_proxy or NO_PROXY
/// names the host. None when the way is direct; kInvalid when the proxy is not of HTTP.
[[nodiscard]] Result<std::optional<Url>> proxy_for(const Url& url, const Environment& environment);

/// Whether `list`, as in no_proxy, names `host`: itself, a domain above it, a network of addresses
/// (10.0.0.0/8), or everything (*).
[[nodiscard]] bool named_by(const std::string& list, const std::string& host);

}  // namespace muster::http
