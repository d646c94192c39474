#include "server/web/web_server.h"

#include <utility>

#include "server/web/http_paths.h"

namespace muster::server {

WebServer::WebServer(Loop& loop, Observer& observer, Options options)
    : loop_(loop), observer_(observer) {
  EventLoop& http = thread_.loop();
  // What crosses over is held by the token of this object: none of it runs after its end.
  const std::weak_ptr<int> alive = lifetime_.token();
  Api::Surroundings with{
      .loop = http,
      .ask =
          [this, alive, &http](Query query, std::function<void(PicturePtr)> then) {
            loop_.post([this, alive, &http, query = std::move(query),
                        then = std::move(then)]() mutable {
              if (alive.expired()) return;
              auto picture = std::make_shared<const Picture>(observer_.look(query));
              // Moved: an exchange is let go of on its own thread.
              http.post([then = std::move(then), picture = std::move(picture)] { then(picture); });
            });
          },
      .listeners =
          [this, alive](std::size_t count) {
            loop_.post([this, alive, count] {
              if (!alive.expired()) observer_.set_listeners(count);
            });
          },
      .metrics = observer_.metrics(),
      .answered = [&metrics = observer_.metrics()](
                      const std::string& path,
                      int status) { metrics.http_answered(path_class(path), status); },
      .authorize = std::move(options.authorize),
      .page = options.page,
  };
  thread_.run([&] {
    if (options.v1) with.v1 = options.v1(http, with.answered);
    api_ = std::make_unique<Api>(std::move(with));
    options.listen.refuse = [this](const http::RefusedRequest& refusal) {
      return api_->refused(refusal);
    };
    server_ = std::make_unique<http::Server>(
        http, std::move(options.listen),
        [this](const http::ExchangePtr& exchange) { api_->handle(exchange); });
  });
  observer_.listen([this, &http](UpdatePtr update) {
    http.post([this, update = std::move(update)] {
      if (api_) api_->update(update);
    });
  });
}

WebServer::~WebServer() {
  observer_.listen({});
  observer_.set_listeners(0);
  thread_.run([this] {
    server_->close();
    api_.reset();
    server_.reset();
  });
}

Result<std::uint16_t> WebServer::start() {
  Result<std::uint16_t> port = Error{Errc::kUnavailable, "the HTTP thread did not answer"};
  thread_.run([&] { port = server_->start(); });
  return port;
}

}  // namespace muster::server
