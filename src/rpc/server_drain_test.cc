// What clients see of a server that stops.
#include "rpc/server_test_scene.h"

namespace muster::rpc {
namespace server_test {

class DrainTest : public ServerTest {
 protected:
  void start_here(ServerOptions options = {}) {
    options.lasts = [](const std::string& method) { return method.ends_with("Stream"); };
    start(std::move(options));
  }
  void drain(Duration limit = 10s) {
    began = loop.now();
    server->drain(limit, [this] {
      drained = loop.now();
      loop.post([this] { server->close(); });
    });
  }

  MonoTime began{};
  std::optional<MonoTime> drained;
};

TEST_F(DrainTest, ACallUnderWayIsAnswered) {
  start_here();
  CallPtr held;
  on_call = [&](const CallPtr& call) { held = call; };
  Told told;
  const auto call = begin(told);
  ASSERT_TRUE(until([&] { return held != nullptr; }));
  drain();
  loop.run_until(loop.now() + 50ms);
  EXPECT_FALSE(drained);
  held->reply(payload("late"));
  ASSERT_TRUE(until([&] { return drained && told.outcome; }));
  EXPECT_TRUE(told.outcome->ok());
  EXPECT_EQ(told.messages, std::vector<std::string>{"late"});
  EXPECT_LT(*drained - began, 5s) << "the client closes at once";
}

TEST_F(DrainTest, ACallWithoutAnAnswerInTimeIsUnknown) {
  start_here();
  CallPtr held;
  on_call = [&](const CallPtr& call) { held = call; };
  Told told;
  const auto call = begin(told);
  ASSERT_TRUE(until([&] { return held != nullptr; }));
  drain(100ms);
  ASSERT_TRUE(until([&] { return drained && told.outcome; }));
  // It may have been done, and another server can say so.
  EXPECT_EQ(told.outcome->code, Code::kUnknown);
  EXPECT_EQ(told.outcome->word, Outcome::Word::kServer);
  EXPECT_GE(*drained - began, 100ms);
}

TEST_F(DrainTest, WhoWaitsToBeLetInIsClosed) {
  start_here({.anteroom = {.each_max = 1}});
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(testing::dial_loopback(port));
  ASSERT_TRUE(until([&] { return server->connections() == 3; }));
  drain();
  ASSERT_TRUE(until([&] { return drained.has_value(); }));
  loop.run_until(loop.now() + 10ms);
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(DrainTest, AStreamEndsBehindTheAnswersOfWhatWasRead) {
  start_here();
  std::vector<std::string> read;
  std::function<void(CallPtr)> serve = [&](const CallPtr& call) {
    call->read([&, call](std::optional<std::string> message) {
      if (!message) return call->finish({});
      read.push_back(*message);
      call->write(payload("re: " + *message), [&, call] { serve(call); });
    });
  };
  on_call = serve;
  Told told;
  const auto call = begin(told, "/a.B/Stream");
  for (int i = 0; i < 100; ++i) call->send(payload(std::string(20'000, 'x')));
  ASSERT_TRUE(until([&] { return told.messages.size() >= 10; }));
  drain();
  for (int i = 0; i < 100; ++i) call->send(payload("too late"));
  ASSERT_TRUE(until([&] { return drained && told.outcome; }));
  EXPECT_EQ(told.outcome->code, Code::kUnavailable);
  EXPECT_EQ(told.outcome->word, Outcome::Word::kServer);
  EXPECT_EQ(told.outcome->trailers.find(kServerKey), "s1");
  EXPECT_EQ(told.messages.size(), read.size()) << "all that was dealt with was answered";
}

TEST_F(DrainTest, ACallThatComesTooLateHearsTheServersWord) {
  start_here();
  CallPtr held;
  on_call = [&](const CallPtr& call) { held = call; };
  Told first;
  const auto call = begin(first);
  ASSERT_TRUE(until([&] { return held != nullptr; }));
  held.reset();
  int begun = 0;
  on_call = [&](const CallPtr&) { ++begun; };
  // It is given to the connection before the client has read that it is to go elsewhere.
  Told second;
  const auto late = begin(second);
  late->send(payload("x"));
  late->finish();
  drain(200ms);
  ASSERT_TRUE(until([&] { return drained && second.outcome; }));
  EXPECT_EQ(second.outcome->code, Code::kUnavailable);
  EXPECT_NE(second.outcome->word, Outcome::Word::kNobody);
  EXPECT_EQ(begun, 0);
  // And anyone who comes later finds nobody.
  channel = connect();
  EXPECT_EQ(ask("x").outcome->word, Outcome::Word::kNeverLeft);
}

TEST_F(DrainTest, ConnectionsThatNobodyUsesHoldNothingUp) {
  start_here();
  ASSERT_TRUE(ask("x").outcome->ok());
  const UniqueFd silent = testing::dial_loopback(port);
  ASSERT_TRUE(until([&] { return server->connections() == 2; }));
  drain();
  ASSERT_TRUE(until([&] { return drained.has_value(); }));
  EXPECT_LT(*drained - began, 400ms);
}

TEST_F(DrainTest, AClientThatDoesNotCloseIsWaitedForAMoment) {
  start_here();
  BareClient client(port, loop.now());
  ASSERT_TRUE(until([&] {
    (void)client.talk(loop.now());
    return client.session.greeted();
  }));
  drain();
  ASSERT_TRUE(until([&] { return client.talk(loop.now()); })) << "ended, and not reset";
  EXPECT_TRUE(until([&] { return drained.has_value(); }));
  EXPECT_LT(*drained - began, 5s);
}

}  // namespace server_test
}  // namespace muster::rpc
