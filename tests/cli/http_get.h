#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "platform/event_loop.h"
#include "platform/http_client.h"

namespace muster {

/// GET over the loopback, at the port that a program has announced.
inline HttpResponse get(const nlohmann::json& listening, const std::string& path) {
  LoopThread thread;
  std::unique_ptr<HttpClient> client;
  std::promise<Result<HttpResponse>> answered;
  thread.run([&] {
    client = std::make_unique<HttpClient>(thread.loop());
    HttpRequest request;
    request.url = "http://127.0.0.1:" + std::to_string(listening["port"].get<int>()) + path;
    request.by = thread.loop().now() + 10s;
    request.direct = true;
    client->send(request, [&](auto response) { answered.set_value(std::move(response)); });
  });
  auto response = answered.get_future().get();
  thread.run([&] { client.reset(); });
  EXPECT_TRUE(response.ok()) << response.error().message;
  return response ? *response : HttpResponse{};
}

}  // namespace muster
