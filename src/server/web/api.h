#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "platform/http/server.h"
#include "server/web/event_streams.h"
#include "server/web/metrics.h"
#include "server/web/page.h"
#include "server/web/picture.h"
#include "server/web/ring_picture.h"

namespace muster::server {

/// The HTTP answers of musterd, read-only: /api, /metrics, /healthz, /readyz and the page. What is
/// below /v1 it hands on once the client may ask for it. It requests pictures from the server's
/// loop and renders them here, so that a large answer delays no heartbeat. Threads: that of the
/// HTTP server only.
class Api {
 public:
  struct Surroundings {
    Loop& loop;  ///< The HTTP server's.
    /// Has a picture made; it comes on this thread.
    std::function<void(Query, std::function<void(PicturePtr)>)> ask;
    /// The number of event listeners has changed.
    std::function<void(std::size_t)> listeners;
    const Metrics& metrics;
    /// Counts an answer to a request for `path`.
    std::function<void(const std::string& path, int status)> answered;
    /// Whether this client may ask for this path; empty: everybody may.
    std::function<Status(const http::Request&)> authorize{};
    std::span<const PageFile> page{};
    /// Answers requests below /v1; empty: there is nothing.
    std::function<void(const http::ExchangePtr&)> v1{};
  };

  explicit Api(Surroundings surroundings);

  void handle(const http::ExchangePtr& exchange);
  /// The answer to a request that the HTTP server refuses by itself.
  [[nodiscard]] http::Response refused(const http::RefusedRequest& refusal);
  /// Sends an update to all listeners.
  void update(const UpdatePtr& update);

 private:
  using Draw = std::function<Json(const Picture&)>;

  void api(const http::ExchangePtr& exchange, const std::string& name);
  void answer(const http::ExchangePtr& exchange, const Query& query, Draw draw);
  void nodes(const http::ExchangePtr& exchange);
  void ring(const http::ExchangePtr& exchange);
  /// The parameter `service`, which may be empty; none: it is wrong, and that was answered.
  std::optional<std::string> service_in(const http::ExchangePtr& exchange);
  void ring_plan(const http::ExchangePtr& exchange);
  void decisions(const http::ExchangePtr& exchange);
  void explain(const http::ExchangePtr& exchange, const std::string& id);
  void series(const http::ExchangePtr& exchange);
  void events(const http::ExchangePtr& exchange);
  void metrics(const http::ExchangePtr& exchange);
  void ready(const http::ExchangePtr& exchange);
  void page(const http::ExchangePtr& exchange);
  void reply(const http::ExchangePtr& exchange, http::Response response);
  void refuse(const http::ExchangePtr& exchange, int status, const std::string& sentence);
  const RingPictures& painted(const Picture& picture);
  /// Of a recent ring; the cache lives longer if the ring takes long to paint.
  const Shares& shares(const Picture& picture);
  [[nodiscard]] bool shares_fresh() const;
  void count_listeners();

  Surroundings with_;
  EventStreams streams_;
  RingPainter painter_;
  RingPictures ring_;
  std::uint64_t ring_version_ = 0;
  bool ring_made_ = false;
  MonoTime ring_painted_{};
  bool shares_wanted_ = false;  ///< A picture for new shares is on its way.
  Timer sweep_timer_;
};

}  // namespace muster::server
