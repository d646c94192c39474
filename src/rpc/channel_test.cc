#include "rpc/channel.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include "platform/listener.h"
#include "rpc/message_reader.h"

namespace muster::rpc {
namespace channel_test {

const std::vector<Header> kAnswer = {{":status", "200"}, {"content-type", "application/grpc"}};

/// A server that does what the method says.
class ScriptedServer {
 public:
  explicit ScriptedServer(EventLoop& loop, std::uint16_t port = 0)
      : loop_(loop), turn_(loop), listener_(loop, {.port = port}, [this](UniqueFd fd) {
          peers_.push_back(std::make_unique<Peer>(*this));
          peers_.back()->begin(std::move(fd));
        }) {
    port_ = listener_.start().value();
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::size_t connections() const { return peers_.size(); }
  void drop_all() {
    for (const auto& peer : peers_) peer->connection->close();
  }
  void go_away() {
    for (const auto& peer : peers_) {
      peer->connection->session().go_away();
      peer->connection->touch();
    }
  }
  /// Ends what waits.
  void answer_all() {
    for (const auto& peer : peers_) peer->answer_held();
  }

  std::vector<std::string> seen;  ///< Methods, as they came.
  std::map<std::string, std::string> headers;
  int cancelled = 0;
  int refusals = 0;  ///< So many streams are refused, unlooked at.

 private:
  struct Peer final : SessionEvents {
    explicit Peer(ScriptedServer& s) : server(s) {}
    void begin(UniqueFd fd) {
      connection = std::make_shared<Connection>(server.loop_, server.turn_, std::move(fd),
                                                SslPtr(nullptr, SSL_free), Session::Side::kServer,
                                                ConnectionOptions{}, *this,
                                                Connection::Hooks{.ended = [](const Error&) {}});
      connection->begin();
    }
    void on_headers(StreamId id, const HeaderBlock& block, bool) override {
      if (server.refusals > 0) {
        --server.refusals;
        return connection->session().reset(id, NGHTTP2_REFUSED_STREAM);
      }
      method[id] = block.find(":path");
      server.seen.push_back(method[id]);
      for (std::size_t i = 0; i < block.size(); ++i) {
        server.headers[std::string(block[i].name)] = block[i].value;
      }
      Session& session = connection->session();
      if (method[id].starts_with("/http/")) {
        const std::string status = method[id].substr(6);
        const std::vector<Header> page = {{":status", status}, {"content-type", "text/html"}};
        session.finish(id, page);
      } else if (method[id] == "/refuse") {
        const std::vector<Header> refusal = {{":status", "200"},
                                             {"content-type", "application/grpc"},
                                             {"grpc-status", "7"},
                                             {"grpc-message", "not%20you"},
                                             {"leader-address", "there:1"}};
        session.finish(id, refusal);
      } else if (method[id] == "/break") {
        session.reset(id, NGHTTP2_INTERNAL_ERROR);
      }
    }
    void on_data(StreamId id, std::string_view bytes) override {
      connection->session().consume(id, bytes.size());
      std::vector<std::string> messages;
      ASSERT_TRUE(readers.try_emplace(id, 1 << 24).first->second.feed(bytes, messages));
      for (const std::string& message : messages) {
        if (method[id] == "/hold") continue;
        connection->session().respond(id, kAnswer);
        connection->session().send(id, payload("re: " + message));
      }
    }
    void on_trailers(StreamId, const HeaderBlock&) override {}
    void on_end(StreamId id) override {
      if (method[id] == "/hold") return held.push_back(id);
      answer(id);
    }
    void answer(StreamId id) {
      const std::vector<Header> end = {{"grpc-status", "0"}, {"muster-server", "s1"}};
      connection->session().respond(id, kAnswer);
      connection->session().finish(id, end);
    }
    void answer_held() {
      for (const StreamId id : std::exchange(held, {})) answer(id);
      connection->touch();
    }
    void on_drained(StreamId) override {}
    void on_closed(StreamId, std::uint32_t error) override {
      if (error == NGHTTP2_CANCEL) ++server.cancelled;
    }
    void on_goaway(StreamId, std::uint32_t) override {}
    void on_pong() override {}

    ScriptedServer& server;
    std::shared_ptr<Connection> connection;
    std::map<StreamId, std::string> method;
    std::map<StreamId, MessageReader> readers;
    std::vector<StreamId> held;
  };

  EventLoop& loop_;
  SendTurn turn_;
  std::vector<std::unique_ptr<Peer>> peers_;
  Listener listener_;
  std::uint16_t port_ = 0;
};

struct Told {
  std::vector<std::string> messages;
  std::optional<Outcome> outcome;
  int sent = 0;
};

class ChannelTest : public ::testing::Test {
 protected:
  bool until(const std::function<bool()>& holds) {
    const MonoTime end = loop.now() + 20s;
    while (!holds() && loop.now() < end) loop.run_until(loop.now() + 1ms);
    return holds();
  }
  std::unique_ptr<Channel> channel_to(std::uint16_t port, const std::string& host = "127.0.0.1") {
    ChannelOptions options;
    options.host = host;
    options.port = port;
    return std::make_unique<Channel>(loop, turn, std::move(options), Random(1));
  }
  std::unique_ptr<ClientCall> start(Channel& channel, const std::string& method, Told& told,
                                    std::optional<Duration> within = {}, Metadata metadata = {}) {
    const auto by = within ? std::optional(loop.now() + *within) : std::nullopt;
    return channel.start(method, by, std::move(metadata),
                         {.message = [&told](std::string m) { told.messages.push_back(m); },
                          .end = [&told](const Outcome& o) { told.outcome = o; },
                          .sent = [&told] { ++told.sent; }});
  }
  Told ask(Channel& channel, const std::string& method, const std::string& question = "x") {
    Told told;
    const auto call = start(channel, method, told, 10s);
    call->send(payload(question));
    call->finish();
    EXPECT_TRUE(until([&] { return told.outcome.has_value(); }));
    return told;
  }

  EventLoop loop;
  SendTurn turn{loop};
};

TEST_F(ChannelTest, AUnaryCallIsAnswered) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  const Told told = ask(*channel, "/echo", "hello");
  EXPECT_EQ(told.messages, std::vector<std::string>{"re: hello"});
  EXPECT_TRUE(told.outcome->ok());
  EXPECT_EQ(told.outcome->word, Outcome::Word::kServer);
  EXPECT_EQ(told.outcome->trailers.find("muster-server"), "s1");
  EXPECT_EQ(server.headers[":authority"], "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_TRUE(server.headers["grpc-timeout"].ends_with("u"));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(ask(*channel, "/echo").outcome->ok());
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(ChannelTest, NamesAreLookedUp) {
  ScriptedServer server(loop);
  EXPECT_TRUE(ask(*channel_to(server.port(), "localhost"), "/echo").outcome->ok());
  const Told told = ask(*channel_to(1, "no-such-host.invalid"), "/echo");
  EXPECT_EQ(told.outcome->code, Code::kUnavailable);
  EXPECT_EQ(told.outcome->word, Outcome::Word::kNeverLeft);
  EXPECT_NE(told.outcome->message.find("cannot be resolved"), std::string::npos);
}

TEST_F(ChannelTest, StreamsGoBothWays) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  Told told;
  const auto call = start(*channel, "/stream", told, {}, {{"request-bin", "\xff\x01"}});
  for (std::size_t i = 1; i <= 20; ++i) {
    call->send(payload(std::to_string(i)));
    ASSERT_TRUE(until([&] { return told.messages.size() == i; }));
  }
  EXPECT_EQ(told.messages.back(), "re: 20");
  EXPECT_GE(told.sent, 1);
  EXPECT_EQ(server.headers["request-bin"], "/wE");
  EXPECT_FALSE(told.outcome);
  call->finish();
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_TRUE(told.outcome->ok());
}

TEST_F(ChannelTest, LargeMessagesGoThrough) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  const Told told = ask(*channel, "/echo", std::string(10 << 20, 'x'));
  ASSERT_TRUE(told.outcome->ok());
  EXPECT_EQ(told.messages[0].size(), (10u << 20U) + 4);
}

TEST_F(ChannelTest, RefusalsAreTheServersWord) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  const Told told = ask(*channel, "/refuse");
  EXPECT_EQ(told.outcome->code, Code::kPermissionDenied);
  EXPECT_EQ(told.outcome->message, "not you");
  EXPECT_EQ(told.outcome->word, Outcome::Word::kServer);
  EXPECT_EQ(told.outcome->trailers.find("leader-address"), "there:1");
}

TEST_F(ChannelTest, AnAnswerThatIsNotGrpcsIsToldFromAServers) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  const Told refused = ask(*channel, "/http/404");
  EXPECT_EQ(refused.outcome->code, Code::kUnimplemented);
  EXPECT_EQ(refused.outcome->word, Outcome::Word::kServer);
  EXPECT_EQ(refused.outcome->message, "the answer is plain HTTP (status 404), not gRPC");
  // A gateway may have passed it on before it lost its patience.
  const Told lost = ask(*channel, "/http/504");
  EXPECT_EQ(lost.outcome->code, Code::kUnavailable);
  EXPECT_EQ(lost.outcome->word, Outcome::Word::kNobody);
  EXPECT_EQ(lost.outcome->trouble.kind, Trouble::Kind::kNotGrpc);
}

TEST_F(ChannelTest, WhoeverBreaksOffHasNotAnswered) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  const Told broken = ask(*channel, "/break");
  EXPECT_EQ(broken.outcome->code, Code::kInternal);
  EXPECT_EQ(broken.outcome->word, Outcome::Word::kNobody);
  Told told;
  const auto call = start(*channel, "/hold", told);
  call->finish();
  ASSERT_TRUE(until([&] { return server.seen.back() == "/hold"; }));
  server.drop_all();
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_EQ(told.outcome->code, Code::kUnavailable);
  EXPECT_EQ(told.outcome->word, Outcome::Word::kNobody);
  // The next one gets a new connection.
  EXPECT_TRUE(ask(*channel, "/echo").outcome->ok());
  EXPECT_EQ(server.connections(), 2u);
}

TEST_F(ChannelTest, AServerThatIsNotThereIsNotAskedAgainAtOnce) {
  std::uint16_t port = 0;
  { port = ScriptedServer(loop).port(); }
  const auto channel = channel_to(port);
  const Told first = ask(*channel, "/echo");
  EXPECT_EQ(first.outcome->word, Outcome::Word::kNeverLeft);
  EXPECT_NE(first.outcome->message.find("Connection refused"), std::string::npos);
  const MonoTime began = loop.now();
  EXPECT_EQ(ask(*channel, "/echo").outcome->word, Outcome::Word::kNeverLeft);
  EXPECT_LT(loop.now() - began, 50ms);
  // And found again when it is.
  ScriptedServer server(loop, port);
  EXPECT_TRUE(until([&] { return ask(*channel, "/echo").outcome->ok(); }));
}

TEST_F(ChannelTest, CallsEndAtTheirDeadlineAndTheServerHearsOfIt) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  Told told;
  const auto call = start(*channel, "/hold", told, 100ms);
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_EQ(told.outcome->code, Code::kDeadlineExceeded);
  EXPECT_EQ(told.outcome->word, Outcome::Word::kNobody);
  EXPECT_TRUE(until([&] { return server.cancelled == 1; }));
}

TEST_F(ChannelTest, AHandleThatGoesGivesTheCallUp) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  Told told;
  auto call = start(*channel, "/hold", told);
  ASSERT_TRUE(until([&] { return !server.seen.empty(); }));
  call.reset();
  EXPECT_TRUE(until([&] { return server.cancelled == 1; }));
  EXPECT_FALSE(told.outcome);
  // Also from within its own callback.
  std::unique_ptr<ClientCall> own;
  bool heard = false;
  own = channel->start("/stream", {}, {},
                       {.message =
                            [&](std::string) {
                              heard = true;
                              own.reset();
                            },
                        .end = [](const Outcome&) { FAIL(); }});
  own->send(payload("a"));
  own->send(payload("b"));
  EXPECT_TRUE(until([&] { return heard && server.cancelled == 2; }));
}

TEST_F(ChannelTest, WhatTheServerDidNotLookAtIsSentOnceMore) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  server.refusals = 1;
  const Told told = ask(*channel, "/echo", "again");
  EXPECT_TRUE(told.outcome->ok());
  EXPECT_EQ(told.messages, std::vector<std::string>{"re: again"});
  server.refusals = 2;
  EXPECT_EQ(ask(*channel, "/echo").outcome->word, Outcome::Word::kNeverLeft);
}

TEST_F(ChannelTest, AServerThatGoesAwayFinishesWhatItHas) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  Told held;
  const auto call = start(*channel, "/hold", held);
  call->finish();
  ASSERT_TRUE(until([&] { return !server.seen.empty(); }));
  server.go_away();
  EXPECT_TRUE(
      until([&] { return ask(*channel, "/echo").outcome->ok() && server.connections() == 2; }));
  EXPECT_FALSE(held.outcome);
  server.answer_all();
  ASSERT_TRUE(until([&] { return held.outcome.has_value(); }));
  EXPECT_TRUE(held.outcome->ok());
}

TEST_F(ChannelTest, RenewingKeepsCallsThatAreUnderWay) {
  ScriptedServer server(loop);
  const auto channel = channel_to(server.port());
  Told held;
  const auto call = start(*channel, "/hold", held);
  call->finish();
  ASSERT_TRUE(until([&] { return !server.seen.empty(); }));
  channel->renew();
  EXPECT_TRUE(ask(*channel, "/echo").outcome->ok());
  EXPECT_EQ(server.connections(), 2u);
  server.answer_all();
  ASSERT_TRUE(until([&] { return held.outcome.has_value(); }));
  EXPECT_TRUE(held.outcome->ok());
}

TEST_F(ChannelTest, CallsOutliveTheirChannel) {
  ScriptedServer server(loop);
  auto channel = channel_to(server.port());
  Told open;
  Told waiting;
  const auto call = start(*channel, "/hold", open, 10s);
  ASSERT_TRUE(until([&] { return !server.seen.empty(); }));
  const auto other = start(*channel, "/hold", waiting, 10s);
  channel.reset();
  ASSERT_TRUE(until([&] { return open.outcome && waiting.outcome; }));
  EXPECT_EQ(open.outcome->word, Outcome::Word::kNobody);
  EXPECT_EQ(waiting.outcome->word, Outcome::Word::kNeverLeft);
}

}  // namespace channel_test
}  // namespace muster::rpc
