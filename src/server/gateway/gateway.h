#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "platform/http/server.h"
#include "server/gateway/call_desk.h"
#include "server/gateway/call_line.h"
#include "server/gateway/http_status.h"
#include "server/gateway/operations.h"
#include "server/gateway/ring_lookup.h"

namespace muster::server {

/// The HTTP/JSON interface below /v1: turns a request into a call of a gRPC method, and the answer
/// into JSON. It decides nothing: access, limits, audit and forwarding are those of the call.
///
/// Requests that change something must come from a program or from musterd's own page: browsers
/// name the page that asks (Origin), and send this content type to no other site without asking it.
/// Threads: that of the HTTP server.
class Gateway {
 public:
  struct Parts {
    Loop& loop;  ///< The HTTP server's.
    CallDesk& desk;
    std::function<void(const std::string& path, int status)> answered;
  };
  /// The longest body of a request.
  static constexpr std::size_t kBodyBytesMax = 64 * 1024;
  /// Requests that last, watches and waits, so that the others still find a connection.
  static constexpr std::size_t kLastingMax = 96;

  explicit Gateway(Parts parts);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  /// Answers a request for a path below /v1 whose sender may ask.
  void handle(const http::ExchangePtr& exchange);
  /// Where the desk is to send answers.
  [[nodiscard]] CallDesk::Outlet outlet() { return line_->outlet(); }

 private:
  /// One request, read.
  struct Ask {
    http::ExchangePtr exchange;
    const OperationRow* row;
    std::string name;  ///< In the path.
    Json body;         ///< An object; null if the operation has none.
  };
  using AskPtr = std::shared_ptr<const Ask>;
  using Answered = CallLine::Answered;

  [[nodiscard]] Result<AskPtr> read(const http::ExchangePtr& exchange, const Match& found) const;
  void perform(const AskPtr& ask);
  void list_elections(const AskPtr& ask);
  void get_election(const AskPtr& ask);
  void nodes(const AskPtr& ask);
  void put_node(const AskPtr& ask);
  void delete_node(const AskPtr& ask);
  void heartbeat(const AskPtr& ask);
  void look_up_ring(const AskPtr& ask);
  void get_lock(const AskPtr& ask);
  void acquire_lock(const AskPtr& ask);
  void renew_lock(const AskPtr& ask);
  void release_lock(const AskPtr& ask);
  void watch(const AskPtr& ask);
  /// A place for a request that lasts, until the last copy of it is gone; null if there is none,
  /// and then the request is refused.
  [[nodiscard]] std::shared_ptr<void> place_for(const AskPtr& ask);

  /// Makes a unary call for the client; `then` gets the decoded answer, unless there was an error.
  template <typename Answer>
  CallLine::CallId call(const AskPtr& ask, const char* method,
                        const google::protobuf::Message& request,
                        std::function<void(const Answer& answer)> then);
  template <typename Answer>
  void call_for_json(const AskPtr& ask, const char* method,
                     const google::protobuf::Message& request);
  template <typename Topology>
  void with_topology(const AskPtr& ask, const std::string& services, Topology then);
  [[nodiscard]] static CallOrder order(const http::Request& request, const std::string& method,
                                       const google::protobuf::Message& message, Duration patience);

  void reply(const AskPtr& ask, const Json& json, int status = 200);
  void reply(const http::ExchangePtr& exchange, http::Response response);
  void refuse(const http::ExchangePtr& exchange, const Error& error);

  Parts parts_;
  std::shared_ptr<CallLine> line_;
  RingLookup ring_;
  std::shared_ptr<std::size_t> lasting_ = std::make_shared<std::size_t>(0);
  Lifetime lifetime_;
};

}  // namespace muster::server
