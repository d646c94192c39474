// What servers and networks do to an HttpClient without TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <iostream>
#include <set>

#include "platform/testing/full_host.h"
#include "platform/testing/http_scene.h"
#include "platform/testing/loopback.h"
#include "platform/testing/raw_server.h"

namespace muster::http {
namespace client_connection_test {

using ::muster::testing::RawPeer;
using ::muster::testing::RawServer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

std::string local(const RawServer& server) {
  return "http://127.0.0.1:" + std::to_string(server.port()) + "/";
}

/// Answers every request of a connection with `answer`.
RawServer::Serve always(std::string answer) {
  return [answer = std::move(answer)](RawPeer& peer, std::size_t) {
    while (!peer.read_head().empty()) peer.write(answer);
  };
}

/// Answers one request with `answer` and closes.
RawServer::Serve once(std::string answer) {
  return [answer = std::move(answer)](RawPeer& peer, std::size_t) {
    if (!peer.read_head().empty()) peer.write(answer);
  };
}

class HttpConnectionTest : public muster::testing::HttpScene {
 protected:
  ~HttpConnectionTest() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }
  /// Before the first request: nobody reads the environment meanwhile.
  void set_variable(const std::string& name, const std::string& value) {
    set_.insert(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::set<std::string> set_;
};

TEST_F(HttpConnectionTest, ASmallRequestLeavesInOnePiece) {
  std::uint32_t pieces = 0;
  RawServer server([&](RawPeer& peer, std::size_t) {
    std::string all = peer.read_head();
    while (!all.ends_with("the end")) all += peer.read();
    pieces = peer.segments();
    peer.write(kOk);
  });
  HttpRequest put = request(local(server));
  put.method = "PUT";
  put.body = std::string(4000, '.') + "the end";
  ASSERT_TRUE(ask(put));
  EXPECT_EQ(pieces, 1u);
}

TEST_F(HttpConnectionTest, AnAnswerInChunksIsReadAndItsConnectionUsedAgain) {
  RawServer server(always(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nA: b\r\n\r\n"));
  for (int i = 0; i < 3; ++i) {
    const auto answer = ask(local(server));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "ok");
  }
  EXPECT_EQ(server.accepted(), 1u);
}

TEST_F(HttpConnectionTest, AnAnswerToHeadHasNoBodyAndLeavesItsConnectionFit) {
  RawServer server([&](RawPeer& peer, std::size_t) {
    while (true) {
      const std::string head = peer.read_head();
      if (head.empty()) return;
      peer.write(head.starts_with("HEAD ") ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : kOk);
    }
  });
  HttpRequest head = request(local(server));
  head.method = "HEAD";
  EXPECT_EQ(ask(head)->header("content-length"), "2");
  EXPECT_EQ(ask(local(server))->body, "ok");
  EXPECT_EQ(server.accepted(), 1u);
}

TEST_F(HttpConnectionTest, AnInterimAnswerIsNotTheAnswer) {
  RawServer server(always(std::string("HTTP/1.1 100 Continue\r\n\r\n") + kOk));
  EXPECT_EQ(ask(local(server))->status, 200);
}

TEST_F(HttpConnectionTest, AnAnswerMayEndWithItsConnection) {
  RawServer server(once("HTTP/1.0 200 OK\r\n\r\nall of it"));
  const auto answer = ask(local(server));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "all of it");
}

TEST_F(HttpConnectionTest, AConnectionThatSaidMoreThanItsAnswerIsNotUsedAgain) {
  RawServer server(always(std::string(kOk) + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse"));
  EXPECT_EQ(ask(local(server))->body, "ok");
  EXPECT_EQ(ask(local(server))->body, "ok");
  EXPECT_EQ(server.accepted(), 2u);
}

TEST_F(HttpConnectionTest, AConnectionThatSpeaksUnaskedIsNotUsedAgain) {
  std::promise<void> answered, said;
  RawServer server([&](RawPeer& peer, std::size_t number) {
    peer.read_head();
    peer.write(kOk);
    if (number > 0) return;
    answered.get_future().wait();
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse");
    said.set_value();
    peer.read();  // Until the client has closed it.
  });
  EXPECT_EQ(ask(local(server))->body, "ok");
  answered.set_value();
  said.get_future().wait();
  EXPECT_EQ(ask(local(server))->body, "ok");
}

// A write must not meet a connection that was closed while nobody used it.
TEST_F(HttpConnectionTest, AConnectionThatWasClosedWhileIdleIsNotUsedForAWrite) {
  RawServer server(once(kOk));
  HttpRequest put = request(local(server));
  put.method = "PUT";
  put.once = true;
  for (std::size_t i = 1; i <= 20; ++i) {
    const auto answer = ask(put);
    ASSERT_TRUE(answer) << answer.error().message;
    while (server.closed() < i) std::this_thread::yield();
  }
  EXPECT_EQ(server.accepted(), 20u);
}

TEST_F(HttpConnectionTest, AReadGoesAgainOnceAndOnlyOnAFreshConnection) {
  std::atomic<int> requests = 0;
  // Each connection answers once, takes another request, and closes.
  RawServer server([&](RawPeer& peer, std::size_t) {
    peer.read_head();
    ++requests;
    peer.write(kOk);
    if (!peer.read_head().empty()) ++requests;
    peer.reset();
  });
  std::future<Result<HttpResponse>> one, two;
  thread_.run([&] {  // In one turn: neither waits for the other.
    one = send(request(local(server)));
    two = send(request(local(server)));
  });
  ASSERT_TRUE(one.get().ok() && two.get().ok());
  EXPECT_EQ(server.accepted(), 2u) << "two idle connections";
  const auto answer = ask(local(server));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(server.accepted(), 3u) << "not the second of the idle ones";
  EXPECT_EQ(requests, 4);
}

TEST_F(HttpConnectionTest, ARequestWhoseAnswerHasBegunIsNotSentAgain) {
  for (const bool reset : {false, true}) {
    std::atomic<int> requests = 0;
    RawServer server([&](RawPeer& peer, std::size_t) {
      peer.read_head();
      ++requests;
      peer.write(kOk);
      if (peer.read_head().empty()) return;
      ++requests;
      peer.write("HTTP/1.1 2");
      if (reset) peer.reset();
    });
    ASSERT_TRUE(ask(local(server)));
    EXPECT_TRUE(ask(local(server)).is(Errc::kAmbiguous));
    EXPECT_EQ(requests, 2);
  }
}

TEST_F(HttpConnectionTest, AnAnswerThatCannotBeReadMayHaveBeenAnAnswer) {
  RawServer server(
      once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const auto answer = ask(local(server));
  ASSERT_TRUE(answer.is(Errc::kAmbiguous));
  EXPECT_THAT(answer.error().message, HasSubstr("it has chunks where none are allowed"));
}

TEST_F(HttpConnectionTest, AHeadWithoutEndIsCutOff) {
  RawServer server([&](RawPeer& peer, std::size_t) {
    peer.read_head();
    peer.write("HTTP/1.1 200 OK\r\nX-Long: " + std::string(100'000, '.'));
    peer.read();
  });
  EXPECT_TRUE(ask(local(server)).is(Errc::kCorrupt));
}

TEST_F(HttpConnectionTest, AnAnswerThatComesBeforeTheWholeRequestCounts) {
  std::promise<void> answered;
  RawServer server([&](RawPeer& peer, std::size_t) {
    peer.read_head();
    peer.write("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
    answered.get_future().wait();  // Nobody reads the rest.
  });
  HttpRequest put = request(local(server));
  put.method = "PUT";
  put.body = std::string(std::size_t{32} << 20, '.');
  const auto answer = ask(put);
  answered.set_value();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
}

TEST_F(HttpConnectionTest, IdleConnectionsAreClosedAfterAWhile) {
  std::promise<void> closed;
  RawServer server([&](RawPeer& peer, std::size_t) {
    peer.read_head();
    peer.write(kOk);
    if (peer.read().empty()) closed.set_value();
  });
  make_client({.ca_file = {}, .idle_max = 50ms});
  const MonoTime start = thread_.loop().now();
  ASSERT_TRUE(ask(local(server)));
  closed.get_future().wait();
  EXPECT_GE(thread_.loop().now() - start, 50ms);
  EXPECT_LT(thread_.loop().now() - start, 10s);
}

TEST_F(HttpConnectionTest, HostsHaveConnectionsOfTheirOwnWithinTheLimit) {
  RawServer one(always(kOk)), two(always(kOk)), three(always(kOk));
  make_client({.ca_file = {}, .in_flight_max = 2});
  for (int round = 0; round < 2; ++round) {
    for (RawServer* each : {&one, &two}) ASSERT_TRUE(ask(local(*each)));
  }
  EXPECT_EQ(one.accepted() + two.accepted(), 2u);
  ASSERT_TRUE(ask(local(three)));  // The oldest makes room.
  ASSERT_TRUE(ask(local(two)));
  EXPECT_EQ(two.accepted(), 1u);
  ASSERT_TRUE(ask(local(one)));
  EXPECT_EQ(one.accepted(), 2u);
}

TEST_F(HttpConnectionTest, HostsOfIPv6AreReached) {
  const bool six = muster::testing::has_ipv6();
  if (!six) std::cout << "this machine has no IPv6: IPv4 is tried again\n";
  std::string head;
  RawServer server(
      [&](RawPeer& peer, std::size_t) {
        head = peer.read_head();
        peer.write(kOk);
      },
      six);
  const std::string authority = (six ? "[::1]:" : "127.0.0.1:") + std::to_string(server.port());
  ASSERT_TRUE(ask("http://" + authority + "/"));
  EXPECT_THAT(head, HasSubstr("\r\nHost: " + authority + "\r\n"));
}

TEST_F(HttpConnectionTest, AProxyOfTheEnvironmentIsAskedUnlessTheRequestIsDirect) {
  std::string head;
  RawServer proxy([&](RawPeer& peer, std::size_t) {
    for (std::string each; !(each = peer.read_head()).empty();) {
      head = each;
      peer.write(kOk);
    }
  });
  RawServer origin(always("HTTP/1.1 204 None\r\n\r\n"));
  set_variable("http_proxy", "http://u:p@127.0.0.1:" + std::to_string(proxy.port()));
  ASSERT_EQ(ask("http://somewhere.invalid/x")->body, "ok");
  EXPECT_THAT(head, StartsWith("GET http://somewhere.invalid/x HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nProxy-Authorization: Basic dTpw\r\n"));
  ASSERT_EQ(ask("http://elsewhere.invalid/x")->body, "ok");
  EXPECT_EQ(proxy.accepted(), 1u);
  HttpRequest direct = request(local(origin));
  direct.direct = true;
  EXPECT_EQ(ask(direct)->status, 204);
}

TEST_F(HttpConnectionTest, ARequestWhoseProxyCannotBeUsedWasNotSent) {
  set_variable("http_proxy", "socks5://127.0.0.1:1");
  const auto answer = ask("http://somewhere.invalid/secret-path");
  ASSERT_TRUE(answer.is(Errc::kUnavailable));
  EXPECT_THAT(answer.error().message, HasSubstr("somewhere.invalid: the proxy"));
}

TEST_F(HttpConnectionTest, AnAddressThatIsNoneWasNotSentAnywhere) {
  for (const char* url : {"", "ftp://h/", "http://h/\r\n", "http://:80/"}) {
    EXPECT_TRUE(ask(url).is(Errc::kUnavailable)) << url;
  }
}

TEST_F(HttpConnectionTest, ADeadlineBeforeTheConnectionMeansNotSent) {
  const muster::testing::FullHost full;
  const auto answer = ask(request("http://127.0.0.1:" + std::to_string(full.port()) + "/", 300ms));
  ASSERT_TRUE(answer.is(Errc::kUnavailable));
  EXPECT_THAT(answer.error().message, HasSubstr("before the deadline"));
}

}  // namespace client_connection_test
}  // namespace muster::http
