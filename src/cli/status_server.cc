#include "cli/status_server.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "cli/topology_text.h"
#include "coordinator/prometheus_text.h"
#include "core/net/host_check.h"
#include "platform/host.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Few, because whatever this process needs descriptors for, its store first, comes before them.
constexpr std::size_t kConnectionsMax = 64;

}  // namespace

Result<Address> parse_http_address(const std::string& text) {
  const bool port_alone = text.find(':') == std::string::npos && parse_unsigned(text);
  if (port_alone) return Address::parse("127.0.0.1:" + text);
  return Address::parse(text.starts_with(':') ? "127.0.0.1" + text : text);
}

std::string url_of(const Address& address) {
  return "http://" + address.to_string();
}

HttpAnswers answers_of(const std::shared_ptr<GlobalCoordinator>& coordinator) {
  // The deadline is taken first: when it has passed, what follows says so too.
  return {.leader =
              [coordinator] {
                const Duration left = coordinator->lease_left();
                return HttpAnswers::Leadership{coordinator->leader(), coordinator->epoch(), left};
              },
          .workers = [coordinator] { return coordinator->active_workers(); },
          .metrics = [coordinator] { return prometheus_text(*coordinator); },
          .metrics_json = [coordinator] { return coordinator->metrics().to_json(); },
          .name_space = coordinator->name_space()};
}

Result<std::unique_ptr<StatusServer>> StatusServer::listen(Address address, HttpAnswers answers) {
  std::unique_ptr<StatusServer> face(new StatusServer(std::move(address), std::move(answers)));
  if (Status started = face->start(); !started) return started.error();
  return face;
}

StatusServer::StatusServer(Address address, HttpAnswers answers)
    : address_(std::move(address)), answers_(std::move(answers)) {
  thread_.run([this] {
    server_ = std::make_unique<http::Server>(
        thread_.loop(),
        http::ServerOptions{
            .host = address_.host, .port = address_.port, .connections_max = kConnectionsMax},
        [this](const http::ExchangePtr& exchange) {
          exchange->reply(answer(exchange->request()));
        });
  });
}

StatusServer::~StatusServer() {
  thread_.run([this] { server_.reset(); });
}

Status StatusServer::start() {
  Result<std::uint16_t> port = Error{Errc::kUnavailable, "the HTTP thread did not answer"};
  thread_.run([&] {
    port = server_->start();
    if (port) address_.port = *port;
  });
  if (!port) {
    return {Errc::kUnavailable, "cannot listen on " + url_of(address_) +
                                    "; the port may be in use, or the address may not belong to "
                                    "this host"};
  }
  return Done{};
}

http::Response StatusServer::answer(const http::Request& request) const {
  const Status named = check_host(request.header("host"), address_, host_name());
  if (!named) return http::refusal(403, named.error().message);
  const std::string& path = request.path;
  if (path == "/leader") return leader();
  if (path == "/workers" && answers_.workers) return workers();
  if (path == "/metrics") return http::metrics_response(answers_.metrics());
  if (path == "/metrics.json" && answers_.metrics_json) {
    return http::json_response(200, answers_.metrics_json());
  }
  if (path == "/healthz") return http::json_response(200, dump({{"healthy", true}}));
  return http::refusal(404, std::string("ask for /leader, ") +
                                (answers_.workers ? "/workers, " : "") + "/metrics, " +
                                (answers_.metrics_json ? "/metrics.json " : "") +
                                "or /healthz with GET");
}

http::Response StatusServer::leader() const {
  const HttpAnswers::Leadership now = answers_.leader();
  const auto left = to_ms(now.lease_left);
  return http::json_response(
      left > 0 ? 200 : 503,
      dump({{"leader", now.leader ? Json(now.leader->value()) : Json(nullptr)},
            {"epoch", now.epoch.value()},
            {"deadlineMs", left}}));
}

http::Response StatusServer::workers() const {
  Json ids = Json::array();
  for (const WorkerId& worker : answers_.workers()) ids.push_back(worker.value());
  return http::json_response(
      200, dump({{"namespace", answers_.name_space}, {"workers", std::move(ids)}}));
}

}  // namespace muster::cli
