#include "rpc/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "platform/testing/loopback.h"
#include "rpc/server_test_scene.h"

namespace muster::rpc {
namespace server_test {

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
  EXPECT_EQ(ask("x").outcome->code, Code::kUnavailable);
  EXPECT_EQ(refused, 1);
  for (const CallPtr& call : held) call->reply(payload("answer"));
  ASSERT_TRUE(until([&] { return first.outcome && second.outcome; }));
  on_call = echo;
  EXPECT_TRUE(ask("x").outcome->ok());
}

// R36: servers pass on what their clients ask, and tell each other who leads.
TEST_F(ServerTest, ServersHavePlacesThatNoClientTakes) {
  auto whose = ByteBudget::Whose::kClient;
  start({.calls_max = 1, .calls_of_servers = 1, .client = [&](auto, auto& remote) {
           return Client{remote + (whose == ByteBudget::Whose::kClient ? "" : " s2"), whose};
         }});
  std::vector<CallPtr> held;
  on_call = [&](const CallPtr& call) { held.push_back(call); };
  Told first;
  const auto a = begin(first);
  ASSERT_TRUE(until([&] { return held.size() == 1; }));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("x").outcome->code, Code::kUnavailable);
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(server->calls(), 1u);
  const auto client = std::exchange(channel, connect());
  whose = ByteBudget::Whose::kServer;
  Told second;
  const auto b = begin(second);
  ASSERT_TRUE(until([&] { return held.size() == 2; }));
  EXPECT_EQ(ask("x").outcome->code, Code::kUnavailable);
}

TEST_F(ServerTest, ACallIsAdmittedBeforeAnythingOfItIsAnswered) {
  int asked = 0;
  start({.admit = [&](const CallPtr&) { return ++asked > 0; }});
  Told told;
  const auto call = begin(told, "/a.B/C", 20s, {{"grpc-encoding", std::string(3'000, '%')}});
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_EQ(told.outcome->code, Code::kUnimplemented);
  EXPECT_EQ(told.outcome->message.find('%'), std::string::npos);
  EXPECT_EQ(asked, 1);
}

TEST_F(ServerTest, OnlyTheBeginningOfALongMessageIsTold) {
  start({});
  on_call = [](const CallPtr& call) {
    call->finish(
        {Code::kInvalidArgument, std::string(1023, '%') + "é" + std::string(5'000, '%'), {}});
  };
  EXPECT_EQ(ask("x").outcome->message, std::string(1023, '%'));
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
  start({.bytes = {.each_max = 1 << 20}});
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

// R36: answers that come later than their questions, too, whatever connection they came on.
TEST_F(ServerTest, NorIsOneThatAskedForAllOfItBefore) {
  start({.bytes = {.each_max = 1 << 20}});
  std::vector<CallPtr> held;
  on_call = [&](const CallPtr& call) { held.push_back(call); };
  ChannelOptions stubborn;
  stubborn.connection.session.stream_window = 0;
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<Told> all(50);
  std::vector<std::unique_ptr<ClientCall>> calls;
  for (int i = 0; i < 5; ++i) {
    channel = connect(stubborn);
    for (std::size_t k = 0; k < 10; ++k)
      calls.push_back(begin(all[static_cast<std::size_t>(10 * i) + k]));
    channels.push_back(std::move(channel));
  }
  ASSERT_TRUE(until([&] { return held.size() == 50; }));
  for (const CallPtr& call : held) call->reply(payload(std::string(300'000, 'x')));
  held.clear();
  EXPECT_EQ(refused, 47);
  ASSERT_TRUE(until([&] { return server->calls() == 3; }));
}

TEST_F(ServerTest, RequestsThatNeverBecomeWholeAreBoundedByTheirBytes) {
  start({.bytes = {.each_max = 1 << 20}});
  std::vector<Told> all(50);
  std::vector<std::unique_ptr<ClientCall>> calls;
  on_call = [](const CallPtr& call) { call->read([call](auto) {}); };
  // Those who read nothing, and whose clients send on and on.
  for (Told& told : all) {
    calls.push_back(begin(told));
    for (int i = 0; i < 5; ++i) calls.back()->send(payload(std::string(60'000, 'x')));
  }
  ASSERT_TRUE(until([&] { return refused >= 40; }));
  calls.clear();
  ASSERT_TRUE(until([&] { return server->calls() == 0; }));
  on_call = echo;
  EXPECT_TRUE(ask("x").outcome->ok());
}

// R36: a message costs more here than on its way.
TEST_F(ServerTest, EmptyMessagesCountForWhatTheyCost) {
  start({.bytes = {.each_max = 1 << 20}});
  on_call = [](const CallPtr&) {};
  Told told;
  const auto call = begin(told);
  // 50 KB on their way.
  for (int i = 0; i < 10'000; ++i) call->send(payload(""));
  EXPECT_TRUE(until([&] { return server->calls() == 1; }));
  for (int i = 0; i < 20'000; ++i) call->send(payload(""));
  ASSERT_TRUE(until([&] { return refused == 1; }));
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_EQ(told.outcome->code, Code::kResourceExhausted);
}

TEST_F(ServerTest, ARequestOfOneMessageIsDoneWhenItsClientHasEndedItsSide) {
  start({});
  int done = 0;
  on_call = [&](const CallPtr& call) {
    call->read_single([&, call](const std::optional<std::string>& message) {
      ++done;
      call->reply(payload("re: " + message.value_or("nothing")));
    });
  };
  Told told;
  const auto call = begin(told);
  call->send(payload("x"));
  ASSERT_TRUE(until([&] { return server->calls() == 1; }));
  loop.run_until(loop.now() + 50ms);
  EXPECT_EQ(done, 0);
  call->finish();
  ASSERT_TRUE(until([&] { return told.outcome.has_value(); }));
  EXPECT_EQ(told.messages, std::vector<std::string>{"re: x"});
  EXPECT_EQ(done, 1);
  Told twice;
  const auto other = begin(twice);
  other->send(payload("x"));
  other->send(payload("y"));
  other->finish();
  ASSERT_TRUE(until([&] { return twice.outcome.has_value(); }));
  EXPECT_EQ(twice.outcome->code, Code::kInternal);
  EXPECT_EQ(done, 1);
}

// Someone who connects and says nothing keeps nobody out.
TEST_F(ServerTest, OfThoseWhoOnlyConnectTheOldestAreClosedForOthers) {
  start({.anteroom = {.each_max = 10, .patience = 50ms}});
  ASSERT_TRUE(ask("x").outcome->ok());
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 15; ++i) silent.push_back(testing::dial_loopback(port));
  channel = connect();
  EXPECT_TRUE(ask("x").outcome->ok());
  char byte = 0;
  EXPECT_TRUE(until([&] { return ::recv(silent[0].get(), &byte, 1, MSG_DONTWAIT) == 0; }));
  EXPECT_NE(::recv(silent[14].get(), &byte, 1, MSG_DONTWAIT), 0);
}

// Many who come at once are served one after the other, and none is closed.
TEST_F(ServerTest, WhoeverIsBeingLetInIsGivenTime) {
  start({.anteroom = {.each_max = 2}});
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<Told> all(20);
  std::vector<std::unique_ptr<ClientCall>> calls;
  for (Told& told : all) {
    channel = connect();
    calls.push_back(begin(told));
    calls.back()->send(payload("x"));
    calls.back()->finish();
    channels.push_back(std::move(channel));
  }
  EXPECT_TRUE(until([&] {
    return std::ranges::all_of(all, [](auto& each) { return each.outcome && each.outcome->ok(); });
  }));
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

}  // namespace server_test
}  // namespace muster::rpc
