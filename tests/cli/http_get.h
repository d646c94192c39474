#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstddef>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platform/event_loop.h"
#include "platform/http/http_client.h"
#include "platform/unique_fd.h"
#include "tests/support/loopback.h"

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

/// A blocking connection to the port of a program, whose reads give up after a while.
inline UniqueFd dial(const nlohmann::json& listening) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = loopback(listening["port"].get<int>());
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  const timeval patience{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return fd;
}

/// The whole answer to a request for `path` that names `host`, bytes as they came.
inline std::string get_as(const nlohmann::json& listening, const std::string& host,
                          const std::string& path) {
  const UniqueFd fd = dial(listening);
  const std::string head =
      "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(::send(fd.get(), head.data(), head.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(head.size()));
  std::string answer;
  char one = 0;
  while (::recv(fd.get(), &one, 1, 0) == 1) answer += one;
  return answer;
}

/// Connections whose requests never end. They are open until this is destroyed, unless the program
/// closes them.
class SlowClients {
 public:
  SlowClients(const nlohmann::json& listening, std::size_t count) {
    const std::string begun = "GET /healthz HTTP/1.1\r\nX-Slow: ";
    for (std::size_t i = 0; i < count; ++i) {
      fds_.push_back(dial(listening));
      ::send(fds_.back().get(), begun.data(), begun.size(), MSG_NOSIGNAL);
    }
  }
  /// Those that the program has not closed.
  [[nodiscard]] std::size_t open() const {
    std::size_t count = 0;
    for (const UniqueFd& fd : fds_) {
      char one = 0;
      const ssize_t got = ::recv(fd.get(), &one, 1, MSG_DONTWAIT | MSG_PEEK);
      if (got < 0 && errno == EAGAIN) ++count;
    }
    return count;
  }

 private:
  std::vector<UniqueFd> fds_;
};

}  // namespace muster
