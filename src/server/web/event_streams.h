#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "platform/http/server.h"
#include "server/web/api_json.h"
#include "server/web/picture.h"

namespace muster::server {

/// One server-sent event, with an `id:` line when `id` is not 0.
[[nodiscard]] std::string event_text(const std::string& name, const Json& data,
                                     std::uint64_t id = 0);

/// All clients of /api/events. An event for all is encoded once. A client that reads too
/// slowly is cut off by the HTTP server, connects again, and says what it had last.
/// Thread of the HTTP server only.
class EventStreams {
 public:
  /// More are refused.
  static constexpr std::size_t kStreamsMax = 128;

  /// Begins one: `picture` holds the decisions that it has missed, and nothing that update() tells
  /// later. `has` is the last decision that it knows; 0: it has asked for everything itself.
  void add(http::ExchangePtr exchange, const Picture& picture, std::uint64_t has);
  void update(const Update& update, const Shares& shares);
  [[nodiscard]] std::size_t size() const { return streams_.size(); }
  [[nodiscard]] bool full() const { return streams_.size() >= kStreamsMax; }
  /// Forgets ended streams, and ends those of clients that may no longer listen.
  void sweep(const std::function<Status(const http::Request&)>& authorize);

 private:
  std::vector<http::ExchangePtr> streams_;
};

}  // namespace muster::server
