#include "rpc/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "platform/pki/issue.h"
#include "platform/system_clock.h"
#include "platform/testing/loopback.h"
#include "rpc/channel.h"

namespace muster::rpc {
namespace server_test {

struct Told {
  std::vector<std::string> messages;
  std::optional<Outcome> outcome;
};

/// A server and a client of it, on one loop.
class ServerTest : public ::testing::Test {
 protected:
  bool until(const std::function<bool()>& holds) {
    const MonoTime end = loop.now() + 20s;
    while (!holds() && loop.now() < end) loop.run_until(loop.now() + 1ms);
    return holds();
  }
  void start(ServerOptions options) {
    options.id = "s1";
    options.call_refused = [this] { ++refused; };
    server = std::make_unique<Server>(loop, std::move(options),
                                      [this](const CallPtr& call) { on_call(call); });
    port = server->start().value();
    channel = connect();
  }
  std::unique_ptr<Channel> connect(ChannelOptions options = {}) {
    options.host = "127.0.0.1";
    options.port = port;
    return std::make_unique<Channel>(loop, server->turn(), std::move(options), Random(1));
  }
  std::unique_ptr<ClientCall> begin(Told& told, const std::string& method = "/a.B/C",
                                    Duration within = 20s, Metadata metadata = {}) {
    return channel->start(method, loop.now() + within, std::move(metadata),
                          {.message = [&told](std::string m) { told.messages.push_back(m); },
                           .end = [&told](const Outcome& o) { told.outcome = o; }});
  }
  Told ask(const std::string& question) {
    Told told;
    const auto call = begin(told);
    call->send(payload(question));
    call->finish();
    EXPECT_TRUE(until([&] { return told.outcome.has_value(); }));
    return told;
  }
  static void echo(const CallPtr& call) {
    call->read([call](std::optional<std::string> message) {
      call->reply(payload("re: " + message.value_or("nothing")));
    });
  }
  /// Answers each message until there are no more.
  static void converse(const CallPtr& call) {
    call->read([call](std::optional<std::string> message) {
      if (!message) return call->finish({});
      call->write(payload("re: " + *message), [call] { converse(call); });
    });
  }

  EventLoop loop;
  std::function<void(const CallPtr&)> on_call = echo;
  int refused = 0;
  std::uint16_t port = 0;
  std::unique_ptr<Server> server;
  std::unique_ptr<Channel> channel;
};

TEST_F(ServerTest, AnswersCallsOfEveryKind) {
  start({});
  EXPECT_EQ(ask("hello").messages, std::vector<std::string>{"re: hello"});
  on_call = converse;
  Told told;
  const auto call = begin(told, "/a.B/Stream", 20s, {{"muster-caller", "me"}});
  for (std::size_t i = 1; i <= 50; ++i) {
    call->send(payload(std::to_string(i)));
    ASSERT_TRUE(until([&] { return told.messages.size() == i; }));
  }
  call->finish();
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_TRUE(told.outcome->ok());
  EXPECT_TRUE(until([&] { return server->calls() == 0; }));
  EXPECT_EQ(server->connections(), 1u);
}

TEST_F(ServerTest, TellsWhatACallIs) {
  start({});
  std::string method;
  std::string metadata;
  std::string bytes;
  Duration left{0};
  on_call = [&](const CallPtr& call) {
    method = call->method();
    metadata = call->metadata("muster-caller");
    bytes = call->metadata("any-bin");
    left = call->time_left();
    EXPECT_EQ(call->remote(), "127.0.0.1");
    EXPECT_TRUE(call->forwarded());
    EXPECT_TRUE(call->certificate().empty());
    call->finish({Code::kFailedPrecondition, "not the leader: é", "there:9000", 1500ms, true});
  };
  Told told;
  const auto call =
      begin(told, "/a.B/C", 5s,
            {{"muster-caller", "me"}, {"any-bin", "\xff\x00 x"}, {kForwardedKey, "s2"}});
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_EQ(method, "/a.B/C");
  EXPECT_EQ(metadata, "me");
  EXPECT_EQ(bytes, "\xff");
  EXPECT_LE(left, 5s);
  EXPECT_GT(left, 4s);
  EXPECT_EQ(told.outcome->code, Code::kFailedPrecondition);
  EXPECT_EQ(told.outcome->message, "not the leader: é");
  EXPECT_EQ(told.outcome->trailers.find(kLeaderKey), "there:9000");
  EXPECT_EQ(told.outcome->trailers.find(kRetryKey), "2");
  EXPECT_EQ(told.outcome->trailers.find(kReplacedKey), "1");
  EXPECT_EQ(told.outcome->trailers.find(kServerKey), "s1");
}

TEST_F(ServerTest, RefusesMoreCallsThanItTakesAndTakesOthersAgain) {
  start({.calls_max = 2});
  std::vector<CallPtr> held;
  on_call = [&](const CallPtr& call) { held.push_back(call); };
  Told first;
  Told second;
  const auto a = begin(first);
  const auto b = begin(second);
  ASSERT_TRUE(until([&] { return held.size() == 2; }));
  EXPECT_EQ(ask("x").outcome->code, Code::kResourceExhausted);
  EXPECT_EQ(refused, 1);
  for (const CallPtr& call : held) call->reply(payload("answer"));
  ASSERT_TRUE(until([&] { return first.outcome && second.outcome; }));
  on_call = echo;
  EXPECT_TRUE(ask("x").outcome->ok());
}

// R32: a compressed message is refused before anything of it is inflated.
TEST_F(ServerTest, RefusesWhatIsCompressedOrTooLong) {
  start({.request_bytes_max = 1000});
  Told told;
  const auto call = begin(told, "/a.B/C", 20s, {{"grpc-encoding", "gzip"}});
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_EQ(told.outcome->code, Code::kUnimplemented);
  EXPECT_EQ(told.outcome->trailers.find("grpc-accept-encoding"), "identity");
  EXPECT_EQ(ask(std::string(1001, 'x')).outcome->code, Code::kResourceExhausted);
  EXPECT_TRUE(ask(std::string(1000, 'x')).outcome->ok());
}

// R36: answers that nobody takes are bounded by their bytes.
TEST_F(ServerTest, AClientThatTakesNothingIsSentOnlySoMuch) {
  start({.unsent_bytes_max = 1 << 20});
  ChannelOptions stubborn;
  stubborn.connection.session.stream_window = 0;
  channel = connect(stubborn);
  on_call = [](const CallPtr& call) { call->reply(payload(std::string(300'000, 'x'))); };
  std::vector<Told> all(50);
  std::vector<std::unique_ptr<ClientCall>> calls;
  for (Told& told : all) calls.push_back(begin(told));
  ASSERT_TRUE(until([&] { return refused >= 40; }));
  EXPECT_LE(server->calls(), 6u);
  // And others are served.
  channel = connect();
  on_call = echo;
  EXPECT_TRUE(ask("x").outcome->ok());
}

TEST_F(ServerTest, AnAnswerThatNobodyTakesIsDroppedInTheEnd) {
  start({.taken_within = 100ms});
  ChannelOptions stubborn;
  stubborn.connection.session.stream_window = 0;
  channel = connect(stubborn);
  bool gone = false;
  on_call = [&](const CallPtr& call) {
    call->on_gone([&] { gone = true; });
    call->reply(payload("x"));
  };
  Told told;
  const auto call = begin(told);
  ASSERT_TRUE(until([&] { return gone; }));
  EXPECT_EQ(server->calls(), 0u);
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_EQ(told.outcome->code, Code::kCancelled);
}

TEST_F(ServerTest, AWriterWaitsForASlowReader) {
  start({});
  ChannelOptions slow;
  slow.connection.session.stream_window = 100'000;
  channel = connect(slow);
  int written = 0;
  CallPtr writer;
  std::function<void()> write = [&] {
    ++written;
    writer->write(payload(std::string(50'000, 'x')), write);
  };
  on_call = [&](const CallPtr& call) {
    writer = call;
    write();
  };
  // Its messages are counted and not consumed while it sits in its first one.
  Told told;
  const auto call = begin(told);
  ASSERT_TRUE(until([&] { return told.messages.size() > 20; }));
  EXPECT_LT(static_cast<std::size_t>(written), told.messages.size() + 10);
  writer->finish({});
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  writer.reset();
  write = {};
}

TEST_F(ServerTest, AnswersThatAreOnTheirWayArriveBeforeItCloses) {
  start({});
  bool drained = false;
  on_call = [&](const CallPtr& call) {
    call->reply(payload(std::string(5 << 20, 'x')));
    server->drain(10s, [&] {
      drained = true;
      loop.post([this] { server->close(); });
    });
  };
  Told told;
  const auto call = begin(told);
  ASSERT_TRUE(until([&] { return drained && told.outcome; }));
  EXPECT_TRUE(told.outcome->ok());
  EXPECT_EQ(told.messages[0].size(), 5u << 20U);
}

TEST_F(ServerTest, AClientThatGoesIsHeardOf) {
  start({});
  std::optional<Code> ended;
  bool over = false;
  on_call = [&](const CallPtr& call) {
    call->on_ended([&](const RpcStatus& status) { ended = status.code; });
    call->on_over([&] { over = true; });
  };
  Told told;
  auto call = begin(told);
  ASSERT_TRUE(until([&] { return server->calls() == 1; }));
  call.reset();
  ASSERT_TRUE(until([&] { return over; }));
  EXPECT_EQ(ended, Code::kCancelled);
  over = false;
  call = begin(told);
  ASSERT_TRUE(until([&] { return server->calls() == 1; }));
  channel.reset();
  EXPECT_TRUE(until([&] { return over && server->connections() == 0; }));
}

TEST_F(ServerTest, OldConnectionsAreRenewedWithoutLosingACall) {
  start({.connection_age_max = 10ms});
  CallPtr held;
  on_call = [&](const CallPtr& call) { held = call; };
  Told told;
  const auto call = begin(told);
  ASSERT_TRUE(until([&] { return held != nullptr; }));
  on_call = echo;
  ASSERT_TRUE(until([&] { return ask("x").outcome->ok() && server->connections() == 2; }));
  held->reply(payload("late"));
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_EQ(told.messages, std::vector<std::string>{"late"});
}

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
