#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/hub.h"

namespace muster::cli {

/// Where to listen: 127.0.0.1:9010, [::1]:9010, or a port alone, which means loopback. Port 0
/// takes a free one.
struct ListenAddress {
  std::string host = "127.0.0.1";
  int port = 0;

  [[nodiscard]] static Result<ListenAddress> parse(const std::string& text);
  /// http://127.0.0.1:9010
  [[nodiscard]] std::string url() const;
};

/// What a process tells of its election. Asked on threads of the face. What is left out is not
/// there.
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

/// Lets any program ask over HTTP, read-only:
///
///   GET /leader        200 while this process leads, else 503; leader, epoch, deadlineMs
///   GET /workers       who is in
///   GET /metrics       in Prometheus' text format
///   GET /metrics.json  the same as JSON, by the names of seed deployments
///   GET /healthz       200 while the process answers
///
/// Answers come from memory and never wait for the store. Without encryption and without
/// authentication: loopback is the place for it. Connections are closed after one answer, so that
/// idle ones cannot keep others out. Threads of its own; make and destroy on any.
class HttpFace {
 public:
  /// Listens from now on. `answers` are asked for until this is destroyed.
  [[nodiscard]] static Result<std::unique_ptr<HttpFace>> listen(const ListenAddress& address,
                                                                HttpAnswers answers);
  virtual ~HttpFace() = default;

  /// With the port that was taken.
  [[nodiscard]] virtual const ListenAddress& address() const = 0;
};

}  // namespace muster::cli
