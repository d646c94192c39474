#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/hub.h"
#include "core/net/address.h"
#include "platform/event_loop.h"
#include "platform/http/server.h"

namespace muster::cli {

/// The value of --http: 127.0.0.1:9010, [::1]:9010, or a port alone, which means loopback. Port 0
/// takes a free one.
[[nodiscard]] Result<Address> parse_http_address(const std::string& text);
/// http://127.0.0.1:9010
[[nodiscard]] std::string url_of(const Address& address);

/// What a process tells about its election. Called on the thread of the HTTP server, also while
/// the process's own loop is busy. A function that is left out has no path.
struct HttpAnswers {
  struct Leadership {
    std::optional<WorkerId> leader;
    Epoch epoch;
    Duration lease_left{0};  ///< Of this process.
  };
  std::function<Leadership()> leader;
  std::function<std::vector<WorkerId>()> workers{};
  std::function<std::string()> metrics;  ///< In Prometheus' text format.
  std::function<std::string()> metrics_json{};
  std::string name_space{};
};
[[nodiscard]] HttpAnswers answers_of(const std::shared_ptr<GlobalCoordinator>& coordinator);

/// Answers programs over HTTP, read-only:
///
///   GET /leader        200 while this process leads, else 503; leader, epoch, deadlineMs
///   GET /workers       the live workers
///   GET /metrics       in Prometheus' text format
///   GET /metrics.json  the same as JSON, by the names of seed deployments
///   GET /healthz       200 while the process answers
///
/// Answers come from memory and never wait for the store. Connections, heads and time are bounded
/// as http::Server bounds them: a client that is slow gives way to the next one. Requests that
/// name another machine in their Host header are refused (check_host). There is no encryption and
/// no authentication: loopback is the place to listen.
///
/// Threads: one of its own, which serves every connection. Make and destroy on any other thread.
class StatusServer {
 public:
  /// Listens until this is destroyed, and calls `answers` until then.
  [[nodiscard]] static Result<std::unique_ptr<StatusServer>> listen(Address address,
                                                                    HttpAnswers answers);
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  /// With the port that was taken.
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  StatusServer(Address address, HttpAnswers answers);

  [[nodiscard]] Status start();
  [[nodiscard]] http::Response answer(const http::Request& request) const;
  [[nodiscard]] http::Response leader() const;
  [[nodiscard]] http::Response workers() const;

  Address address_;
  const HttpAnswers answers_;
  LoopThread thread_;
  std::unique_ptr<http::Server> server_;  ///< The thread's.
};

}  // namespace muster::cli
