// What a session takes from the other side, and what ends it.
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <string>
#include <string_view>
#include <vector>

#include "rpc/session_test_scene.h"

namespace muster::rpc {
namespace session_test {

// R33: streams opened and reset at once, as fast as they can be written.
TEST(SessionTest, ARapidResetIsCutOffAndKeepsNothing) {
  Pair pair;
  int opened = 0;
  while (pair.server.session.breach() == Breach::kNone && opened < 100'000) {
    const StreamId id = pair.open();
    pair.settle();
    pair.client.session.reset(id, NGHTTP2_CANCEL);
    pair.settle();
    ++opened;
  }
  EXPECT_EQ(pair.server.session.breach(), Breach::kResets);
  EXPECT_LT(opened, 2'500);
  EXPECT_EQ(pair.server.session.streams(), 0u);
  ASSERT_TRUE(pair.client.goaway);
  EXPECT_EQ(pair.client.goaway->second, NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST(SessionTest, AClientWhoseCallsExpireNowAndThenIsLeftAlone) {
  Pair pair;
  for (int i = 0; i < 10'000; ++i) {
    const StreamId id = pair.open();
    pair.settle();
    pair.client.session.reset(id, NGHTTP2_CANCEL);
    pair.server.now += 6ms;
    pair.settle();
  }
  EXPECT_EQ(pair.server.session.breach(), Breach::kNone);
}

// R34: a block of headers is bounded before it is kept.
TEST(SessionTest, HeadersThatAreTooLongEndTheirStreamOrTheConnection) {
  Pair pair;
  const std::string value(9'000, 'x');
  std::vector<Header> headers = kRequest;
  headers.push_back({"much", value});
  const StreamId id = pair.client.session.open(headers).value();
  pair.settle();
  EXPECT_FALSE(pair.server.seen.contains(id));
  EXPECT_EQ(pair.client.seen[id].closed, NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_EQ(pair.server.session.breach(), Breach::kNone);
  const StreamId good = pair.open();
  pair.settle();
  EXPECT_TRUE(pair.server.seen.contains(good));
  const std::string more(40'000, 'x');
  headers.back().value = more;
  ASSERT_TRUE(pair.client.session.open(headers));
  pair.settle();
  EXPECT_EQ(pair.server.session.breach(), Breach::kHeaders);
}

TEST(SessionTest, AFloodOfEmptyFramesIsCutOff) {
  Pair pair;
  for (int i = 0; i < 20'000 && pair.server.session.breach() == Breach::kNone; ++i) {
    pair.client.session.ping();
    pair.settle();
  }
  EXPECT_EQ(pair.server.session.breach(), Breach::kEmptyFrames);
  EXPECT_EQ(pair.server.session.breach_message(), "too many frames without content");
}

// R36: anyone who takes nothing piles up no answers, whatever they are to.
TEST(SessionTest, FramesThatNobodyTakesAreBounded) {
  Pair pair({.waiting_max = 50});
  for (int i = 0; i < 60; ++i) pair.client.session.ping();
  EXPECT_TRUE(Pair::step(pair.client, pair.server));
  EXPECT_EQ(pair.server.session.breach(), Breach::kUntaken);
  Pair patient({.waiting_max = 50});
  for (int i = 0; i < 100; ++i) {
    patient.client.session.ping();
    patient.settle();
  }
  EXPECT_EQ(patient.server.session.breach(), Breach::kNone);
}

TEST(SessionTest, WhatWaitsOnAStreamIsDroppedWithItBeforeTheOtherSideHears) {
  Pair pair;
  const StreamId id = pair.open();
  const StreamId other = pair.open();
  pair.client.session.finish(id);
  pair.settle();
  pair.server.session.respond(id, kAnswer);
  pair.server.session.send(id, payload(std::string(100'000, 'x')));
  pair.server.session.finish(id, kEnd);
  pair.server.session.reset(id, NGHTTP2_CANCEL);
  EXPECT_EQ(pair.server.session.unsent(), 0u);
  pair.server.session.send(id, payload("more"));
  EXPECT_EQ(pair.server.session.unsent(), 0u);
  pair.settle();
  EXPECT_EQ(pair.client.seen[id].closed, NGHTTP2_CANCEL);
  EXPECT_EQ(pair.client.seen[id].bytes, 0u);
  pair.server.session.respond(other, kAnswer);
  pair.server.session.send(other, payload("hello"));
  pair.settle();
  EXPECT_EQ(pair.client.seen[other].messages, std::vector<std::string>{"hello"});
}

/// A client that has greeted, and then sends one frame again and again.
Breach breach_of(std::string_view frame_again, std::string_view first = {}) {
  End client(Session::Side::kClient);
  End server(Session::Side::kServer);
  std::string bytes;
  client.session.produce(bytes, 64 * 1024);
  server.session.receive(bytes, server.now);
  server.session.receive(first, server.now);
  for (int i = 0; i < 6'000; ++i) {
    server.session.receive(frame_again, server.now);
    bytes.clear();
    server.session.produce(bytes, 64 * 1024);
  }
  return server.session.breach();
}

// R34: each of these has a way of its own through the library.
TEST(SessionTest, FramesThatCarryNothingAreCountedWhateverTheyAre) {
  using namespace std::string_view_literals;
  EXPECT_EQ(breach_of("\0\0\0\x42\0\0\0\0\0"sv), Breach::kEmptyFrames) << "an unknown type";
  EXPECT_EQ(breach_of("\0\0\x08\x06\x01\0\0\0\0winddown"sv), Breach::kEmptyFrames) << "an echo";
  EXPECT_EQ(breach_of("\0\0\x03\0\x08\0\0\0\x01\x02\0\0"sv,
                      "\0\0\x0c\x01\x04\0\0\0\x01\x83\x86\x04\x01/\x41\x05there"sv),
            Breach::kEmptyFrames)
      << "padding";
}

TEST(SessionTest, AnEchoThatNobodyAskedForWindsNothingDown) {
  using namespace std::string_view_literals;
  Pair pair;
  pair.server.session.receive("\0\0\x08\x06\x01\0\0\0\0winddown"sv, pair.server.now);
  pair.settle();
  EXPECT_FALSE(pair.client.goaway);
  EXPECT_TRUE(pair.client.session.may_open());
}

}  // namespace session_test
}  // namespace muster::rpc
