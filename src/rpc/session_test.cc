#include "rpc/session.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <string>
#include <vector>

#include "rpc/session_test_scene.h"

namespace muster::rpc {
namespace session_test {

TEST(SessionTest, AUnaryCallGoesThereAndBack) {
  Pair pair;
  const StreamId id = pair.open();
  pair.client.session.send(id, payload("question"));
  pair.client.session.finish(id);
  pair.settle();
  End::Seen& at_server = pair.server.seen[id];
  EXPECT_EQ(at_server.headers[":path"], "/muster.v1.Test/Call");
  EXPECT_EQ(at_server.messages, std::vector<std::string>{"question"});
  EXPECT_TRUE(at_server.ended);
  pair.server.session.respond(id, kAnswer);
  pair.server.session.send(id, payload("answer"));
  pair.server.session.finish(id, kEnd);
  pair.settle();
  End::Seen& at_client = pair.client.seen[id];
  EXPECT_EQ(at_client.headers[":status"], "200");
  EXPECT_EQ(at_client.messages, std::vector<std::string>{"answer"});
  EXPECT_EQ(at_client.trailers["grpc-status"], "0");
  EXPECT_TRUE(at_client.ended);
  EXPECT_EQ(at_client.closed, 0u);
  EXPECT_EQ(at_server.closed, 0u);
  EXPECT_EQ(pair.server.session.streams(), 0u);
  EXPECT_EQ(pair.client.session.streams(), 0u);
}

TEST(SessionTest, ARefusalIsTrailersAlone) {
  Pair pair;
  const StreamId id = pair.open();
  pair.settle();
  const std::vector<Header> refusal = {{":status", "200"}, {"grpc-status", "12"}};
  pair.server.session.finish(id, refusal);
  pair.settle();
  EXPECT_EQ(pair.client.seen[id].headers["grpc-status"], "12");
  EXPECT_TRUE(pair.client.seen[id].ended);
}

TEST(SessionTest, StreamsGoBothWaysForAsLongAsTheyLike) {
  Pair pair;
  const StreamId id = pair.open();
  pair.settle();
  pair.server.session.respond(id, kAnswer);
  for (int i = 0; i < 50; ++i) {
    pair.client.session.send(id, payload("up" + std::to_string(i)));
    pair.settle();
    pair.server.session.send(id, payload("down" + std::to_string(i)));
    pair.settle();
  }
  EXPECT_EQ(pair.server.seen[id].messages.size(), 50u);
  EXPECT_EQ(pair.client.seen[id].messages.back(), "down49");
  EXPECT_EQ(pair.server.seen[id].drained, 50);
  EXPECT_FALSE(pair.server.seen[id].ended);
}

TEST(SessionTest, NobodyIsSentMoreThanItsWindow) {
  Pair pair;
  pair.client.lazy = true;
  const StreamId id = pair.open();
  const StreamId other = pair.open();
  pair.settle();
  pair.server.session.respond(id, kAnswer);
  pair.server.session.respond(other, kAnswer);
  for (int i = 0; i < 40; ++i) pair.server.session.send(id, payload(std::string(100'000, 'x')));
  pair.settle();
  const std::size_t got = pair.client.seen[id].bytes;
  EXPECT_LE(got, 1u << 20U);
  EXPECT_EQ(pair.server.session.unsent(id), 40 * 100'005 - got);
  EXPECT_EQ(pair.server.session.unsent(), 40 * 100'005 - got);
  EXPECT_EQ(pair.server.seen[id].drained, 0);
  // Other streams go on meanwhile.
  pair.server.session.send(other, payload("hello"));
  pair.settle();
  EXPECT_EQ(pair.client.seen[other].messages, std::vector<std::string>{"hello"});
  pair.client.lazy = false;
  pair.client.session.consume(id, got);
  pair.settle();
  EXPECT_EQ(pair.client.seen[id].messages.size(), 40u);
  EXPECT_EQ(pair.server.seen[id].drained, 1);
}

TEST(SessionTest, WhatNobodyConsumedOfAStreamThatEndedHoldsUpNobody) {
  Pair pair;
  pair.server.lazy = true;
  for (int i = 0; i < 20; ++i) {
    const StreamId id = pair.open();
    pair.client.session.send(id, payload(std::string(900'000, 'x')));
    pair.settle();
    EXPECT_EQ(pair.server.seen[id].messages.size(), 1u) << i;
    pair.client.session.reset(id, NGHTTP2_CANCEL);
    pair.settle();
    EXPECT_EQ(pair.server.seen[id].closed, NGHTTP2_CANCEL);
  }
}

TEST(SessionTest, NoMoreStreamsThanAreAllowed) {
  Pair pair({.streams_max = 3});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(pair.client.session.may_open());
    pair.open();
  }
  EXPECT_FALSE(pair.client.session.may_open());
  pair.settle();
  EXPECT_EQ(pair.server.session.streams(), 3u);
}

TEST(SessionTest, GoingAwayLetsOpenStreamsEnd) {
  Pair pair;
  const StreamId id = pair.open();
  pair.client.session.finish(id);
  pair.settle();
  pair.server.session.go_away();
  pair.settle();
  ASSERT_TRUE(pair.client.goaway);
  EXPECT_EQ(pair.client.goaway->first, id);
  EXPECT_FALSE(pair.client.session.may_open());
  EXPECT_TRUE(pair.client.session.open(kRequest).is(Errc::kUnavailable));
  pair.server.session.respond(id, kAnswer);
  pair.server.session.finish(id, kEnd);
  pair.settle();
  EXPECT_EQ(pair.client.seen[id].closed, 0u);
  EXPECT_TRUE(pair.server.session.over());
}

TEST(SessionTest, WindingDownServesWhatWasOpenedBeforeTheClientHeardOfIt) {
  Pair pair;
  pair.server.session.wind_down();
  const StreamId id = pair.open();
  pair.client.session.finish(id);
  std::string crossing;
  pair.client.session.produce(crossing, 64 * 1024);
  Pair::step(pair.server, pair.client);
  EXPECT_FALSE(pair.client.session.may_open());
  pair.server.session.receive(crossing, pair.server.now);
  pair.settle();
  ASSERT_TRUE(pair.client.goaway);
  EXPECT_EQ(pair.client.goaway->first, id);
  ASSERT_TRUE(pair.server.seen[id].ended);
  EXPECT_FALSE(pair.server.session.over());
  pair.server.session.respond(id, kAnswer);
  pair.server.session.finish(id, kEnd);
  pair.settle();
  EXPECT_EQ(pair.client.seen[id].closed, 0u);
  EXPECT_TRUE(pair.server.session.over());
}

TEST(SessionTest, ARequestThatHadNotLeftWhenTheServerWoundDownIsRefused) {
  Pair pair;
  pair.server.session.wind_down();
  const StreamId id = pair.open();
  Pair::step(pair.server, pair.client);
  pair.settle();
  EXPECT_EQ(pair.client.seen[id].closed, NGHTTP2_REFUSED_STREAM);
  EXPECT_EQ(pair.server.pongs, 1);
  EXPECT_TRUE(pair.server.session.over());
}

TEST(SessionTest, PingsAreAnswered) {
  Pair pair;
  pair.client.session.ping();
  pair.settle();
  EXPECT_EQ(pair.client.pongs, 1);
}

TEST(SessionTest, WhatIsNoHttp2EndsTheSession) {
  End server(Session::Side::kServer);
  server.session.receive("GET / HTTP/1.1\r\nHost: here\r\n\r\n", server.now);
  EXPECT_EQ(server.session.breach(), Breach::kProtocol);
  EXPECT_TRUE(server.session.over());
}

TEST(SessionTest, UnknownStreamsAreIgnored) {
  Pair pair;
  pair.server.session.respond(77, kAnswer);
  pair.server.session.send(77, payload("x"));
  pair.server.session.finish(77, kEnd);
  pair.server.session.reset(77, NGHTTP2_CANCEL);
  pair.server.session.consume(77, 5);
  pair.settle();
  EXPECT_EQ(pair.server.session.unsent(77), 0u);
}

TEST(SessionTest, WhoeverBeginsWithItsSettingsSpeaksHttp2) {
  Pair pair;
  EXPECT_TRUE(pair.client.session.greeted());
  EXPECT_TRUE(pair.server.session.greeted());
  End client(Session::Side::kClient);
  client.session.receive("HTTP/1.1", client.now);
  EXPECT_EQ(client.session.breach(), Breach::kNone) << "a frame begins with more than that";
  client.session.receive(" 400 Bad Request\r\n", client.now);
  EXPECT_FALSE(client.session.greeted());
  EXPECT_EQ(client.session.breach(), Breach::kProtocol);
  EXPECT_EQ(client.session.breach_message(), "the peer's data is not HTTP/2");
  EXPECT_TRUE(client.session.over());
}

}  // namespace session_test
}  // namespace muster::rpc
