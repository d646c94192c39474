#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/http/server.h"
#include "server/web/api.h"
#include "server/web/observer.h"
#include "server/web/page.h"

namespace muster::server {

/// The HTTP listener of a server, on its own thread, and the link between that thread and the loop:
/// pictures one way, requests the other. Threads: made, used and destroyed on the loop.
class WebServer {
 public:
  struct Options {
    http::ServerOptions listen;
    std::function<Status(const http::Request&)> authorize{};  ///< Called on the HTTP thread.
    std::span<const PageFile> page{};
    /// Makes what answers requests below /v1, on the HTTP thread, where it is used and destroyed.
    using Answer = std::function<void(const http::ExchangePtr&)>;
    using Counted = std::function<void(const std::string& path, int status)>;
    std::function<Answer(Loop& http, Counted answered)> v1{};
  };

  /// `observer` outlives this.
  WebServer(Loop& loop, Observer& observer, Options options);
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  /// Answers with the port.
  [[nodiscard]] Result<std::uint16_t> start();

 private:
  Loop& loop_;
  Observer& observer_;
  Lifetime lifetime_;
  LoopThread thread_;
  std::unique_ptr<Api> api_;              ///< The thread's.
  std::unique_ptr<http::Server> server_;  ///< The thread's.
};

}  // namespace muster::server
