// What becomes of connections that have grown old, or silent.
#include <array>

#include "rpc/server_test_scene.h"

namespace muster::rpc {
namespace server_test {

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

// Its machine may be gone without a trace: a connection that is not pinged would stay for ever.
TEST_F(ServerTest, AConnectionThatFellSilentIsAskedAndThenEnded) {
  start({.connection = {.ask_after = 50ms, .answer_within = 50ms}});
  BareClient answers(port, loop.now());
  BareClient silent(port, loop.now());
  ASSERT_TRUE(until([&] { return server->connections() == 2; }));
  for (BareClient* each : {&answers, &silent}) ASSERT_FALSE(each->talk(loop.now()));
  EXPECT_TRUE(until([&] {
    answers.talk(loop.now());
    return server->connections() < 2;
  }));
  const MonoTime later = loop.now() + 300ms;
  while (loop.now() < later) {
    EXPECT_FALSE(answers.talk(loop.now()));
    loop.run_until(loop.now() + 1ms);
  }
  EXPECT_EQ(server->connections(), 1u);
}

}  // namespace server_test
}  // namespace muster::rpc
