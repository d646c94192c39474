// The HTTP listener of a server: the page, the metrics, and calls of clients below /v1.
#include <cstdint>
#include <memory>
#include <utility>

#include "core/net/host_check.h"
#include "platform/host.h"
#include "platform/system_clock.h"
#include "server/gateway/gateway.h"
#include "server/server.h"
#include "server/web/http_guard.h"

namespace muster {

Status Server::start_http() {
  if (!config_.http) return Done{};
  const Address wanted = config_.http_listen.value_or(Address{"127.0.0.1", 9002});
  // Several servers on one machine are common; only one of them can have the usual port.
  for (const std::uint16_t port : {wanted.port, std::uint16_t{0}}) {
    server::WebServer::Options options;
    options.listen.host = wanted.host;
    options.listen.port = port;
    options.page = page_;
    options.authorize = [wanted](const http::Request& request) {
      return check_host(request.header("host"), wanted, host_name());
    };
    if (tls_) {
      const http::TlsContext context = server::http_context(*tls_);
      if (!context) return {Errc::kInvalid, "OpenSSL cannot serve HTTPS with these files"};
      options.listen.tls = [context] { return context; };
      options.authorize = [&tls = *tls_](const http::Request& request) {
        return server::may_ask(tls, request, system_wall_now());
      };
    }
    options.listen.rules.body_bytes_max = server::Gateway::kBodyBytesMax;
    desk_ = std::make_unique<server::CallDesk>(loop_, [this](const rpc::CallPtr& call) {
      if (let_in(call)) dispatch(call);
    });
    options.v1 = [&desk = *desk_](Loop& http, server::WebServer::Options::Counted answered) {
      const auto gateway = std::make_shared<server::Gateway>(
          server::Gateway::Parts{http, desk, std::move(answered)});
      desk.connect(gateway->outlet());
      return [gateway](const http::ExchangePtr& exchange) { gateway->handle(exchange); };
    };
    http_ = std::make_unique<server::WebServer>(loop_, observer_, std::move(options));
    const auto bound = http_->start();
    if (bound) {
      http_address_ = (tls_ ? "https://" : "http://") + Address{wanted.host, *bound}.to_string();
      return Done{};
    }
    close_http();
    if (config_.http_listen) {
      return {Errc::kUnavailable, bound.error().message + "; choose another --http-listen"};
    }
  }
  return {Errc::kUnavailable, "no port is left for HTTP; --http-listen off disables HTTP"};
}

// The desk first: it calls into the HTTP thread, which is gone with the server.
void Server::close_http() {
  desk_.reset();
  http_.reset();
}

}  // namespace muster
