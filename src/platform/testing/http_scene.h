#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "platform/event_loop.h"
#include "platform/http/http_client.h"

namespace muster::testing {

/// An HttpClient on a loop of its own.
class HttpScene : public ::testing::Test {
 protected:
  HttpScene() { make_client({}); }
  ~HttpScene() override {
    thread_.run([this] { client_.reset(); });
  }
  void make_client(HttpClient::Options options) {
    thread_.run([&] { client_ = std::make_unique<HttpClient>(thread_.loop(), options); });
  }
  HttpRequest request(const std::string& url, Duration within = 10s) {
    HttpRequest r;
    r.url = url;
    r.by = thread_.loop().now() + within;
    return r;
  }
  std::future<Result<HttpResponse>> send(HttpRequest r) {
    auto promise = std::make_shared<std::promise<Result<HttpResponse>>>();
    auto future = promise->get_future();
    thread_.loop().post([this, promise, r = std::move(r)]() mutable {
      client_->send(std::move(r),
                    [promise](auto result) { promise->set_value(std::move(result)); });
    });
    return future;
  }
  /// Waits for the answer.
  Result<HttpResponse> ask(HttpRequest r) { return send(std::move(r)).get(); }
  Result<HttpResponse> ask(const std::string& url) { return ask(request(url)); }

  LoopThread thread_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace muster::testing
