#include "cli/http_face.h"

#include <httplib.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/topology_text.h"
#include "coordinator/prometheus_text.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kThreads = 4;

void answer(httplib::Response& response, int status, const std::string& json) {
  response.status = status;
  response.set_header("Cache-Control", "no-store");
  response.set_content(json + "\n", "application/json");
}

class Server final : public HttpFace {
 public:
  Server(ListenAddress address, HttpAnswers answers)
      : address_(std::move(address)), answers_(std::move(answers)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    // The library's own choice, SO_REUSEPORT, would let two workers share one port unnoticed.
    server_.set_socket_options([](socket_t socket) {
      const int on = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    server_.set_keep_alive_max_count(1);
    server_.set_read_timeout(5);
    server_.set_write_timeout(5);
    server_.set_payload_max_length(0);
    server_.Get("/leader", [this](const auto&, auto& response) { leader(response); });
    if (answers_.workers) {
      server_.Get("/workers", [this](const auto&, auto& response) { workers(response); });
    }
    if (answers_.metrics_json) {
      server_.Get("/metrics.json", [this](const auto&, auto& response) {
        answer(response, 200, answers_.metrics_json());
      });
    }
    server_.Get("/metrics", [this](const auto&, auto& response) {
      response.set_header("Cache-Control", "no-store");
      response.set_content(answers_.metrics(), "text/plain; version=0.0.4; charset=utf-8");
    });
    server_.Get("/healthz", [](const auto&, auto& response) {
      answer(response, 200, dump({{"healthy", true}}));
    });
    const std::string known =
        std::string("ask for /leader, ") + (answers_.workers ? "/workers, " : "") + "/metrics, " +
        (answers_.metrics_json ? "/metrics.json " : "") + "or /healthz with GET";
    server_.set_error_handler([known](const auto&, auto& response) {
      if (!response.body.empty()) return;  // An answer of ours, such as 503 from /leader.
      answer(response, response.status, dump({{"error", known}}));
    });
  }

  ~Server() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  bool bind() {
    if (address_.port == 0) {
      address_.port = server_.bind_to_any_port(address_.host.c_str());
      if (address_.port <= 0) return false;
    } else if (!server_.bind_to_port(address_.host.c_str(), address_.port)) {
      return false;
    }
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // stop() before the server runs would be lost, and its thread would run for ever.
    while (!server_.is_running()) std::this_thread::yield();
    return true;
  }

  [[nodiscard]] const ListenAddress& address() const override { return address_; }

 private:
  void leader(httplib::Response& response) const {
    const HttpAnswers::Leadership now = answers_.leader();
    const auto left = to_ms(now.lease_left);
    answer(response, left > 0 ? 200 : 503,
           dump({{"leader", now.leader ? Json(now.leader->value()) : Json(nullptr)},
                 {"epoch", now.epoch.value()},
                 {"deadlineMs", left}}));
  }

  void workers(httplib::Response& response) const {
    Json ids = Json::array();
    for (const WorkerId& worker : answers_.workers()) ids.push_back(worker.value());
    answer(response, 200, dump({{"namespace", answers_.name_space}, {"workers", ids}}));
  }

  ListenAddress address_;
  const HttpAnswers answers_;
  httplib::Server server_;
  std::thread thread_;
};

}  // namespace

Result<ListenAddress> ListenAddress::parse(const std::string& text) {
  ListenAddress address;
  const auto colon = text.rfind(':');
  std::string host = colon == text.npos ? "" : text.substr(0, colon);
  const bool bracketed = host.starts_with("[") && host.ends_with("]");
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto port = parse_unsigned(colon == text.npos ? text : text.substr(colon + 1));
  if (!port || *port > 65535 || (!bracketed && host.find(':') != host.npos)) {
    return {Errc::kInvalid, "\"" + text + "\" is no address; write 127.0.0.1:9010 or [::1]:9010"};
  }
  if (!host.empty()) address.host = host;
  address.port = static_cast<int>(*port);
  return address;
}

std::string ListenAddress::url() const {
  const bool v6 = host.find(':') != host.npos;
  return "http://" + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
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

Result<std::unique_ptr<HttpFace>> HttpFace::listen(const ListenAddress& address,
                                                   HttpAnswers answers) {
  auto server = std::make_unique<Server>(address, std::move(answers));
  if (!server->bind()) {
    return {Errc::kInvalid, "cannot listen on " + address.url() +
                                "; is the port taken, or the address not of this host?"};
  }
  return std::unique_ptr<HttpFace>(std::move(server));
}

}  // namespace muster::cli
