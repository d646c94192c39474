#include "platform/http/request_bytes.h"

#include <utility>

#include "base/text.h"
#include "platform/http/syntax.h"

namespace muster::http {
namespace {

void add_line(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

bool has_header(const HttpRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (key.size() == name.size() && to_lower(key) == name) return true;
  }
  return false;
}

bool says_length(const HttpRequest& request) {
  return !request.body.empty() || request.method == "PUT" || request.method == "POST";
}

}  // namespace

std::string Route::key() const {
  const std::string target = (url.tls ? "https " : "http ") + url.host_and_port();
  if (!proxy) return target;
  const std::string by = "by " + proxy->host_and_port() + " " + proxy->user;
  // A proxy takes requests for all hosts on one connection, unless it is a tunnel.
  return url.tls ? target + " " + by : by;
}

Result<Route> route_of(const HttpRequest& request, const Environment& environment) {
  auto url = parse_url(request.url);
  if (!url) return url.error();
  Route route{std::move(*url)};
  if (request.direct) return route;
  auto proxy = proxy_for(route.url, environment);
  if (!proxy) return proxy.error();
  route.proxy = std::move(*proxy);
  return route;
}

Result<std::string> request_bytes(const HttpRequest& request, const Route& route) {
  if (!is_token(request.method)) return invalid("the method is not an HTTP method");
  const bool absolute = route.proxy && !route.tunnel();
  std::string head;
  head.reserve(512 + request.body.size());
  head.append(request.method).append(" ");
  if (absolute) head.append("http://").append(route.url.authority);
  head.append(route.url.target).append(" HTTP/1.1\r\n");
  if (!has_header(request, "host")) add_line(head, "Host", route.url.authority);
  if (absolute && !route.proxy->user.empty()) {
    add_line(head, "Proxy-Authorization", basic_credentials(route.proxy->user));
  }
  if (!route.url.user.empty() && !has_header(request, "authorization")) {
    add_line(head, "Authorization", basic_credentials(route.url.user));
  }
  if (!has_header(request, "accept")) add_line(head, "Accept", "*/*");
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name) || has_control(value)) return invalid("a header would break the request");
    add_line(head, name, value);
  }
  if (says_length(request)) {
    add_line(head, "Content-Length", std::to_string(request.body.size()));
  }
  head.append("\r\n").append(request.body);
  return head;
}

std::string connect_bytes(const Route& route) {
  const std::string target = route.url.host_and_port();
  std::string head = "CONNECT " + target + " HTTP/1.1\r\n";
  add_line(head, "Host", target);
  if (!route.proxy->user.empty()) {
    add_line(head, "Proxy-Authorization", basic_credentials(route.proxy->user));
  }
  return head + "\r\n";
}

}  // namespace muster::http
