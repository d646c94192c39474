// What becomes of connections that have grown old.
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "platform/testing/loopback.h"
#include "rpc/server_test_scene.h"

namespace muster::rpc {
namespace server_test {

/// A client of which a test says when it talks, and when it closes.
struct BareClient final : SessionEvents {
  BareClient(std::uint16_t port, MonoTime now)
      : fd(testing::dial_loopback(port)), session(Session::Side::kClient, {}, *this, now) {}

  void on_headers(StreamId, const HeaderBlock&, bool) override { answered = true; }
  void on_data(StreamId, std::string_view) override {}
  void on_trailers(StreamId, const HeaderBlock&) override {}
  void on_end(StreamId) override {}
  void on_drained(StreamId) override {}
  void on_closed(StreamId, std::uint32_t) override {}
  void on_goaway(StreamId, std::uint32_t) override {}
  void on_pong() override {}

  bool write() {
    std::string out;
    session.produce(out, 1 << 16);
    return out.empty() || ::send(fd.get(), out.data(), out.size(), MSG_NOSIGNAL) > 0;
  }
  /// What has come; none at the end.
  std::optional<std::string> read() {
    std::array<char, 4096> in{};
    const ssize_t count = ::recv(fd.get(), in.data(), in.size(), MSG_DONTWAIT);
    if (count == 0) return std::nullopt;
    return std::string(in.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  /// Whether the server has ended what it sends. A connection that was reset is not ended.
  bool talk(MonoTime now) {
    if (!write()) return false;
    const auto in = read();
    if (in) session.receive(*in, now);
    return !in;
  }

  bool answered = false;
  UniqueFd fd;
  Session session;
};

// The client begins a call when it has not read yet that it is to connect again.
TEST_F(ServerTest, ACallThatCrossesTheNoticeOfAnOldConnectionIsAnswered) {
  start({.connection_age_max = 10ms});
  BareClient client(port, loop.now());
  ASSERT_TRUE(client.write());
  std::string unread;
  // The notice is the last that a server says by itself, and ends so.
  ASSERT_TRUE(until([&] {
    unread += client.read().value_or("");
    return unread.ends_with("winddown");
  }));
  const std::array<Header, 5> headers = {{{":method", "POST"},
                                          {":scheme", "http"},
                                          {":path", "/a.B/C"},
                                          {":authority", "here"},
                                          {"content-type", "application/grpc"}}};
  client.session.finish(client.session.open(headers).value());
  ASSERT_TRUE(client.write());
  client.session.receive(unread, loop.now());
  EXPECT_TRUE(until([&] { return client.talk(loop.now()) || client.answered; }));
  EXPECT_TRUE(client.answered);
}

// A socket that is closed too early resets the connection, and its client loses what it has not
// read.
TEST_F(ServerTest, TheClientOfAnOldConnectionClosesIt) {
  start({.connection_age_max = 10ms, .connection = {.answer_within = 10ms}});
  BareClient client(port, loop.now());
  ASSERT_TRUE(until([&] { return client.talk(loop.now()); }));
  for (int i = 0; i < 10; ++i) {
    client.session.ping();
    loop.run_until(loop.now() + 1ms);
    EXPECT_TRUE(client.talk(loop.now())) << "reset";
  }
  EXPECT_EQ(server->connections(), 1u);
  client.fd.reset();
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(ServerTest, AnOldConnectionThatItsClientDoesNotCloseIsClosedInTheEnd) {
  start(
      {.connection_age_max = 10ms, .connection = {.answer_within = 10ms, .closed_within = 100ms}});
  BareClient client(port, loop.now());
  ASSERT_TRUE(until([&] { return client.talk(loop.now()); }));
  EXPECT_EQ(server->connections(), 1u);
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

}  // namespace server_test
}  // namespace muster::rpc
