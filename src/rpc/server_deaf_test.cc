// Clients that take nothing of what they are sent.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "platform/testing/loopback.h"
#include "rpc/server_test_scene.h"

namespace muster::rpc {
namespace server_deaf_test {

/// A client by hand: it asks, and takes nothing.
class Deaf final : public SessionEvents {
 public:
  Deaf(EventLoop& loop, std::uint16_t port)
      : fd_(testing::dial_loopback(port)),
        session_(Session::Side::kClient, wide(), *this, loop.now()) {
    send();
  }
  void ask() {
    static constexpr std::array<Header, 5> kHead = {{{":method", "POST"},
                                                     {":scheme", "http"},
                                                     {":path", "/a.B/C"},
                                                     {":authority", "x"},
                                                     {"content-type", "application/grpc"}}};
    const auto stream = session_.open(kHead);
    ASSERT_TRUE(stream.ok());
    session_.finish(*stream);
    send();
  }
  /// Before it knows how many calls it may have open, it sends no more than a hundred.
  bool hears_settings() {
    std::array<char, 4096> bytes{};
    const ssize_t size = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size > 0) session_.receive({bytes.data(), static_cast<std::size_t>(size)}, MonoTime{});
    return session_.greeted();
  }
  void ping() {
    session_.ping();
    send();
  }
  void send() {
    std::string bytes;
    session_.produce(bytes, 1 << 20);
    // The server may have hung up: then there is nothing to be sent.
    static_cast<void>(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }

  void on_headers(StreamId, const HeaderBlock&, bool) override {}
  void on_data(StreamId, std::string_view) override {}
  void on_trailers(StreamId, const HeaderBlock&) override {}
  void on_end(StreamId) override {}
  void on_drained(StreamId) override {}
  void on_closed(StreamId, std::uint32_t) override {}
  void on_goaway(StreamId, std::uint32_t) override {}
  void on_pong() override {}

 private:
  static SessionOptions wide() {
    SessionOptions options;
    options.stream_window = options.connection_window = 1 << 30;
    return options;
  }

  UniqueFd fd_;
  Session session_;
};

class ServerDeafTest : public server_test::ServerTest {
 protected:
  void start_telling(ServerOptions options) {
    options.cut = [this](Breach breach, const std::string&, std::string_view, const std::string&) {
      cut.push_back(breach);
    };
    start(std::move(options));
  }
  /// More than the kernel keeps for a client.
  static void answer_much(const CallPtr& call) { call->reply(payload(std::string(10 << 20, 'x'))); }
  std::vector<Breach> cut;
  bool admits = true;
};

// R36: signs of life are none that it takes anything.
TEST_F(ServerDeafTest, AConnectionThatTakesNothingIsClosedThoughItSpeaks) {
  start_telling({.taken_within = 200ms});
  on_call = answer_much;
  Deaf deaf(loop, port);
  deaf.ask();
  ASSERT_TRUE(until([&] { return server->calls() == 1; }));
  ASSERT_TRUE(until([&] {
    deaf.ping();
    return server->connections() == 0;
  }));
  EXPECT_EQ(cut, std::vector<Breach>{Breach::kUntaken});
  EXPECT_EQ(server->calls(), 0u);
  on_call = echo;
  EXPECT_TRUE(ask("x").outcome->ok());
}

TEST_F(ServerDeafTest, ACallThatIsCutIsOverThoughItsClientCannotBeTold) {
  start_telling({});
  CallPtr stuck;
  on_call = [&](const CallPtr& call) {
    stuck = call;
    answer_much(call);
  };
  Deaf deaf(loop, port);
  deaf.ask();
  ASSERT_TRUE(until([&] { return stuck != nullptr; }));
  bool gone = false;
  stuck->on_gone([&] { gone = true; });
  stuck->cut();
  EXPECT_TRUE(gone);
  EXPECT_TRUE(stuck->over());
  EXPECT_EQ(server->calls(), 0u);
  EXPECT_EQ(server->connections(), 1u);
}

// R36: refusals are small, and not for nothing.
TEST_F(ServerDeafTest, WhoeverAsksForMoreAndMoreRefusalsIsCutOff) {
  const auto admit = [this](const CallPtr& call) {
    if (!admits) call->turn_away({Code::kResourceExhausted, "no", {}});
    return admits;
  };
  start_telling({.admit = admit, .bytes = {.each_max = 11 << 20}});
  on_call = answer_much;
  Deaf deaf(loop, port);
  ASSERT_TRUE(until([&] { return deaf.hears_settings(); }));
  deaf.ask();
  ASSERT_TRUE(until([&] { return server->calls() == 1; }));
  admits = false;
  for (int i = 0; i < 900 && cut.empty(); ++i) {
    deaf.ask();
    if (i % 50 == 0) loop.run_until(loop.now() + 1ms);
  }
  ASSERT_TRUE(until([&] { return server->connections() == 0; }));
  ASSERT_FALSE(cut.empty());
  EXPECT_EQ(cut.front(), Breach::kUntaken);
}

}  // namespace server_deaf_test
}  // namespace muster::rpc
