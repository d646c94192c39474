#include "platform/http/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>

#include "platform/testing/loopback.h"
#include "platform/unique_fd.h"

namespace muster::http {
namespace {

/// A server on a thread of its own, and blocking clients on the test's.
class HttpServerTest : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    thread_.run([&] {
      server_ = std::make_unique<Server>(thread_.loop(), options,
                                         [this](const ExchangePtr& e) { answer(e); });
      const auto port = server_->start();
      ASSERT_TRUE(port) << port.error().message;
      port_ = *port;
    });
  }
  ~HttpServerTest() override {
    thread_.run([&] {
      stream_.reset();
      server_.reset();
    });
  }

  void answer(const ExchangePtr& exchange) {
    const std::string& path = exchange->request().path;
    if (path == "/stream") {
      exchange->stream({200, "text/event-stream", body(""), {}});
      exchange->write(body("event: hello\n\n"));
      stream_ = exchange;
    } else if (path == "/later") {
      thread_.loop().post([exchange] { exchange->reply({200, "text/plain", body("late"), {}}); });
    } else if (path != "/dropped") {
      exchange->reply({200, "text/plain", body("you asked for " + path), {}});
    }
  }

  [[nodiscard]] UniqueFd dial() const { return testing::dial_loopback(port_); }
  static void send(const UniqueFd& fd, const std::string& bytes) {
    EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Until `end` was read, or the connection ended.
  static std::string read_until(const UniqueFd& fd, const std::string& end) {
    std::string bytes;
    char one = 0;
    while ((end.empty() || !bytes.ends_with(end)) && ::recv(fd.get(), &one, 1, 0) == 1) {
      bytes += one;
    }
    return bytes;
  }

  LoopThread thread_;
  std::unique_ptr<Server> server_;
  ExchangePtr stream_;
  std::uint16_t port_ = 0;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  start();
  const UniqueFd client = dial();
  send(client, "GET /a HTTP/1.1\r\n\r\nGET /later HTTP/1.1\r\n\r\n");
  EXPECT_NE(read_until(client, "you asked for /a").find("200 OK"), std::string::npos);
  EXPECT_TRUE(read_until(client, "late").ends_with("late"));
  send(client, "HEAD /b HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(read_until(client, "").ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, StreamsUntilTheClientGoes) {
  start();
  UniqueFd client = dial();
  send(client, "GET /stream HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(read_until(client, "hello\n\n").ends_with("hello\n\n"));
  thread_.run([&] { stream_->write(body("more\n\n")); });
  EXPECT_EQ(read_until(client, "more\n\n"), "more\n\n");
  client.reset();
  for (bool over = false; !over;) thread_.run([&] { over = stream_->over(); });
}

TEST_F(HttpServerTest, CutsOffAReaderThatFallsBehind) {
  ServerOptions options;
  options.unsent_bytes_max = 64 * 1024;
  start(options);
  const UniqueFd client = dial();
  send(client, "GET /stream HTTP/1.1\r\n\r\n");
  read_until(client, "hello\n\n");
  const Body block = body(std::string(16 * 1024, 'x'));
  bool over = false;
  // What the kernel holds for a reader is bounded, and so is what we hold.
  for (int i = 0; i < 4096 && !over; ++i) {
    thread_.run([&] {
      stream_->write(block);
      over = stream_->over();
    });
  }
  EXPECT_TRUE(over);
}

TEST_F(HttpServerTest, EndsAHeadThatNeverComesAndARequestThatNobodyAnswers) {
  ServerOptions options;
  options.head_timeout = 50ms;
  start(options);
  const UniqueFd slow = dial();
  send(slow, "GET / HT");
  EXPECT_EQ(read_until(slow, ""), "");
  const UniqueFd unanswered = dial();
  send(unanswered, "GET /dropped HTTP/1.1\r\n\r\n");
  EXPECT_EQ(read_until(unanswered, ""), "");
}

TEST_F(HttpServerTest, FurtherConnectionsWaitForAPlace) {
  ServerOptions options;
  options.connections_max = 2;
  start(options);
  UniqueFd first = dial();
  const UniqueFd second = dial();
  send(first, "GET /1 HTTP/1.1\r\n\r\n");
  send(second, "GET /2 HTTP/1.1\r\n\r\n");
  read_until(first, "/1");
  read_until(second, "/2");
  const UniqueFd third = dial();
  send(third, "GET /3 HTTP/1.1\r\n\r\n");
  first.reset();
  EXPECT_TRUE(read_until(third, "/3").ends_with("/3"));
}

TEST_F(HttpServerTest, RefusesGarbageAndGoesOn) {
  start();
  const UniqueFd garbage = dial();
  send(garbage, "\x16\x03\x01 not HTTP\r\n\r\n");
  EXPECT_NE(read_until(garbage, "").find("400"), std::string::npos);
  const UniqueFd client = dial();
  send(client, "GET /a HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(read_until(client, "/a").ends_with("/a"));
}

}  // namespace
}  // namespace muster::http
