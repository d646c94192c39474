#include "platform/http/server.h"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "platform/system_clock.h"
#include "platform/testing/loopback.h"
#include "platform/unique_fd.h"

namespace muster::http {
namespace server_test {

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
      held_.clear();
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
    } else if (path == "/large") {
      ++large_;
      exchange->reply({200, "text/plain", large_body_, {}});
    } else if (path == "/held") {
      held_.push_back(exchange);
    } else if (path == "/echo") {
      exchange->reply({200, "text/plain", body(exchange->request().body), {}});
    } else if (path != "/dropped") {
      if (path == "/look") look_();
      exchange->reply({200, "text/plain", body("you asked for " + path), {}});
    }
  }

  void hold(const UniqueFd& client) {
    std::size_t before = 0;
    thread_.run([&] { before = held_.size(); });
    send(client, "GET /held HTTP/1.1\r\n\r\n");
    for (bool came = false; !came;) thread_.run([&] { came = held_.size() > before; });
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
  std::vector<ExchangePtr> held_;
  std::function<void()> look_;
  const Body large_body_ = body(std::string(std::size_t{8} << 20, 'x'));
  int large_ = 0;  ///< Asked for so often, as far as the server has read.
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

// Anyone who asks and does not read makes the server hold one answer, not one for each request.
TEST_F(HttpServerTest, ReadsTheNextRequestWhenTheLastAnswerWasTaken) {
  start();
  const UniqueFd client = dial();
  constexpr int kAsked = 10;
  for (int i = 0; i < kAsked; ++i) send(client, "GET /large HTTP/1.1\r\n\r\n");
  // Each of these goes through the loop, which would read one of the others each time.
  const UniqueFd other = dial();
  for (int i = 0; i < 2 * kAsked; ++i) {
    send(other, "GET /a HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(read_until(other, "/a").ends_with("/a"));
  }
  // The kernel takes some megabytes of answers for the client, but never two of these.
  thread_.run([&] { EXPECT_LE(large_, 2); });
  std::string chunk(1 << 20, '\0');
  const std::size_t whole = kAsked * large_body_->size();
  for (std::size_t taken = 0; taken < whole;) {
    const ssize_t count = ::recv(client.get(), chunk.data(), chunk.size(), 0);
    ASSERT_GT(count, 0) << taken;
    taken += static_cast<std::size_t>(count);
  }
  thread_.run([&] { EXPECT_EQ(large_, kAsked); });
}

// One that sends a byte now and then is as slow as one that sends none.
TEST_F(HttpServerTest, NoByteOfAHeadProlongsItsTime) {
  ServerOptions options;
  options.head_timeout = 300ms;
  start(options);
  const UniqueFd slow = dial();
  const timeval pause{0, 5000};
  ::setsockopt(slow.get(), SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause);
  send(slow, "GET / HTTP/1.1\r\nX-Slow: ");
  const auto begun = boot_now();
  char none = 0;
  bool ended = false;
  while (!ended && boot_now() - begun < 5s) {
    ended = ::send(slow.get(), "x", 1, MSG_NOSIGNAL) != 1 || ::recv(slow.get(), &none, 1, 0) == 0;
  }
  EXPECT_TRUE(ended);
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

TEST_F(HttpServerTest, FurtherConnectionsWaitForAPlaceWhileAllAreAnswered) {
  ServerOptions options;
  options.connections_max = 2;
  start(options);
  UniqueFd first = dial();
  hold(first);
  const UniqueFd second = dial();
  send(second, "GET /stream HTTP/1.1\r\n\r\n");
  read_until(second, "hello\n\n");
  const UniqueFd third = dial();
  send(third, "GET /3 HTTP/1.1\r\n\r\n");
  thread_.run([&] { held_[0]->reply({200, "text/plain", body("at last"), {}}); });
  EXPECT_TRUE(read_until(third, "/3").ends_with("/3"));
  EXPECT_TRUE(read_until(first, "at last").ends_with("at last"));
  thread_.run([&] { stream_->write(body("more\n\n")); });
  EXPECT_EQ(read_until(second, "more\n\n"), "more\n\n");
}

TEST_F(HttpServerTest, TheLongestIdleGivesItsPlaceToOneThatComes) {
  ServerOptions options;
  options.connections_max = 3;
  options.idle_timeout = 1h;
  start(options);
  const UniqueFd busy = dial();
  hold(busy);
  const UniqueFd first = dial();
  send(first, "GET /first HTTP/1.1\r\n\r\n");
  read_until(first, "/first");
  const UniqueFd second = dial();
  send(second, "GET /second HTTP/1.1\r\n\r\n");
  read_until(second, "/second");
  const UniqueFd probe = dial();
  send(probe, "GET /healthz HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(read_until(probe, "/healthz").ends_with("/healthz"));
  EXPECT_EQ(read_until(first, ""), "");
  send(second, "GET /again HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(read_until(second, "/again").ends_with("/again"));
  thread_.run([&] { EXPECT_EQ(server_->connections(), 3U); });
}

TEST_F(HttpServerTest, WhoNeverFinishesAskingGivesWayAsWell) {
  ServerOptions options;
  options.connections_max = 2;
  options.head_timeout = 1h;
  start(options);
  const UniqueFd silent = dial();
  const UniqueFd slow = dial();
  send(slow, "GET / HT");
  for (bool both = false; !both;) thread_.run([&] { both = server_->connections() == 2; });
  for (int i = 0; i < 3; ++i) {
    const UniqueFd probe = dial();
    send(probe, "GET /healthz HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(read_until(probe, "/healthz").ends_with("/healthz"));
  }
  EXPECT_EQ(read_until(silent, ""), "");
}

TEST_F(HttpServerTest, WhoSendsNoMoreHasItsAnswersAndIsClosed) {
  start();
  const UniqueFd client = dial();
  send(client, "GET /a HTTP/1.1\r\n\r\nGET /later HTTP/1.1\r\n\r\n");
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_TRUE(read_until(client, "/a").ends_with("/a"));
  EXPECT_TRUE(read_until(client, "").ends_with("late"));
  const UniqueFd patient = dial();
  hold(patient);
  ::shutdown(patient.get(), SHUT_WR);
  // The server hears of it before the answer.
  const UniqueFd other = dial();
  send(other, "GET /b HTTP/1.1\r\n\r\n");
  read_until(other, "/b");
  thread_.run([&] { held_[0]->reply({200, "text/plain", body("at last"), {}}); });
  EXPECT_TRUE(read_until(patient, "").ends_with("at last"));
  const UniqueFd half = dial();
  send(half, "GET / HT");
  ::shutdown(half.get(), SHUT_WR);
  EXPECT_EQ(read_until(half, ""), "");
  thread_.run([&] { EXPECT_EQ(server_->connections(), 1U); });
}

TEST_F(HttpServerTest, WhoTalksWithoutAPauseDoesNotKeepOthersFromTheirAnswers) {
  start();
  const UniqueFd noisy = dial();
  send(noisy, "GET /stream HTTP/1.1\r\n\r\n");
  read_until(noisy, "hello\n\n");
  const UniqueFd other = dial();
  send(other, "GET /a HTTP/1.1\r\n\r\n");
  read_until(other, "/a");
  int unread = 0;
  look_ = [&] { EXPECT_EQ(::ioctl(noisy.get(), SIOCOUTQ, &unread), 0); };
  // Both have sent something when the server looks: the one more than fits, the other a request.
  std::promise<void> sent;
  thread_.loop().post([&] { sent.get_future().wait(); });
  const std::string noise(1 << 20, 'x');
  while (::send(noisy.get(), noise.data(), noise.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  send(other, "GET /look HTTP/1.1\r\n\r\n");
  sent.set_value();
  EXPECT_TRUE(read_until(other, "/look").ends_with("/look"));
  EXPECT_GT(unread, 0) << "the request was answered before all of the noise was read";
}

ServerOptions with_bodies() {
  ServerOptions options;
  options.rules.body_bytes_max = 64 * 1024;
  return options;
}

TEST_F(HttpServerTest, ABodyMayComeInPiecesAndTheNextRequestFollowsIt) {
  start(with_bodies());
  const UniqueFd client = dial();
  send(client, "PUT /echo HTTP/1.1\r\nContent-Length: 6\r\n\r\nab");
  for (const char* piece : {"c", "de", "fGET /a HTTP/1.1\r\n\r\n"}) send(client, piece);
  EXPECT_TRUE(read_until(client, "\r\n\r\nabcdef").ends_with("abcdef"));
  EXPECT_TRUE(read_until(client, "for /a").ends_with("for /a"));
}

TEST_F(HttpServerTest, AClientThatWaitsToBeToldSendsItsBodyThen) {
  start(with_bodies());
  const UniqueFd client = dial();
  for (int i = 0; i < 2; ++i) {
    send(client, "PUT /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    EXPECT_EQ(read_until(client, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    send(client, "abc");
    EXPECT_NE(read_until(client, "\r\n\r\nabc").find("200 OK"), std::string::npos);
  }
}

// A connection that is closed over unread bytes is reset, and what was sent on it is lost.
TEST_F(HttpServerTest, AClientThatSendsTooMuchReadsWhyItIsRefused) {
  start(with_bodies());
  for (int i = 0; i < 20; ++i) {
    const UniqueFd client = dial();
    const std::string large(1 << 20, 'x');
    send(client, "PUT /echo HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n");
    for (std::size_t sent = 0; sent < large.size();) {
      const ssize_t count =
          ::send(client.get(), large.data() + sent, large.size() - sent, MSG_NOSIGNAL);
      ASSERT_GT(count, 0) << "the server must read on until the client has its answer";
      sent += static_cast<std::size_t>(count);
    }
    EXPECT_NE(read_until(client, "").find("HTTP/1.1 413"), std::string::npos);
  }
}

TEST_F(HttpServerTest, AClientThatIsRefusedAndSendsForEverIsClosed) {
  start(with_bodies());
  const UniqueFd client = dial();
  send(client, "PUT /echo HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n");
  const auto begun = boot_now();
  const std::string block(1 << 16, 'x');
  while (::send(client.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    ASSERT_LT(boot_now() - begun, 15s);
  }
}

TEST_F(HttpServerTest, AStreamIsToldWhenItsBytesWereTakenAndCanEnd) {
  start();
  const UniqueFd client = dial();
  send(client, "GET /stream HTTP/1.1\r\n\r\n");
  read_until(client, "hello\n\n");
  std::promise<void> promise;
  const auto taken = promise.get_future();
  // More than the kernel takes for a client that does not read, and than a stream may owe; as one
  // write it is allowed.
  const std::size_t size = std::size_t{16} << 20;
  thread_.run([&] {
    stream_->write(body(std::string(size, 'x')));
    stream_->on_taken([&] { promise.set_value(); });
  });
  thread_.run([&] { EXPECT_EQ(taken.wait_for(0s), std::future_status::timeout); });
  std::string chunk(1 << 20, '\0');
  for (std::size_t whole = 0; whole < size;) {
    const ssize_t count = ::recv(client.get(), chunk.data(), chunk.size(), 0);
    ASSERT_GT(count, 0);
    whole += static_cast<std::size_t>(count);
  }
  EXPECT_EQ(taken.wait_for(20s), std::future_status::ready);
  thread_.run([&] {
    stream_->write(body("last"));
    stream_->end();
    EXPECT_TRUE(stream_->over());
  });
  EXPECT_EQ(read_until(client, ""), "last");
}

TEST_F(HttpServerTest, WhoeverWaitsForAnAnswerAndHangsUpIsReported) {
  start();
  UniqueFd client = dial();
  hold(client);
  std::promise<void> gone;
  thread_.run([&] { held_[0]->on_gone([&] { gone.set_value(); }); });
  client.reset();
  EXPECT_EQ(gone.get_future().wait_for(20s), std::future_status::ready);
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

}  // namespace server_test
}  // namespace muster::http
