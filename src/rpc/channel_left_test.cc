// When a call has left, as seen by its caller: what no server has seen may be sent elsewhere.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "platform/listener.h"
#include "rpc/channel.h"

namespace muster::rpc {
namespace channel_left_test {

constexpr std::string_view kGreeting("\0\0\0\4\0\0\0\0\0", 9);  // Settings, none of them.
constexpr std::string_view kGoAway("\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\0\0", 17);

/// A server that says so much to each connection, and nothing afterwards.
class SilentServer {
 public:
  SilentServer(EventLoop& loop, std::string first_words, bool hangs_up = false)
      : listener_(
            loop, {.port = 0}, [this, first_words = std::move(first_words), hangs_up](UniqueFd fd) {
              ++connections;
              EXPECT_EQ(::send(fd.get(), first_words.data(), first_words.size(), MSG_NOSIGNAL),
                        static_cast<ssize_t>(first_words.size()));
              if (!hangs_up) peers_.push_back(std::move(fd));
            }) {
    port = listener_.start().value();
  }
  std::uint16_t port = 0;
  int connections = 0;

 private:
  std::vector<UniqueFd> peers_;
  Listener listener_;
};

class ChannelLeftTest : public ::testing::Test {
 protected:
  bool until(const std::function<bool()>& holds) {
    const MonoTime end = loop.now() + 20s;
    while (!holds() && loop.now() < end) loop.run_until(loop.now() + 1ms);
    return holds();
  }
  std::unique_ptr<Channel> channel_to(std::uint16_t port, ConnectionOptions connection = {}) {
    ChannelOptions options;
    options.host = "127.0.0.1";
    options.port = port;
    options.connection = connection;
    return std::make_unique<Channel>(loop, turn, std::move(options), Random(1));
  }
  std::unique_ptr<ClientCall> start(Channel& channel, std::optional<MonoTime> by = {}) {
    outcome.reset();
    auto call = channel.start(
        "/write", by, {},
        {.message = [](std::string) {}, .end = [this](const Outcome& told) { outcome = told; }});
    call->send(payload("x"));
    call->finish();
    return call;
  }

  EventLoop loop;
  SendTurn turn{loop};
  std::optional<Outcome> outcome;
};

TEST_F(ChannelLeftTest, AServerThatDoesNotGreetHasSeenNothing) {
  SilentServer server(loop, "");
  const auto channel = channel_to(server.port);
  const auto call = start(*channel, loop.now() + 200ms);
  ASSERT_TRUE(until([&] { return outcome.has_value(); }));
  EXPECT_EQ(server.connections, 1);
  EXPECT_FALSE(call->left());
  EXPECT_EQ(outcome->code, Code::kDeadlineExceeded);
  EXPECT_EQ(outcome->word, Outcome::Word::kNeverLeft);
}

TEST_F(ChannelLeftTest, AServerThatDoesNotGreetInTimeIsGivenUp) {
  SilentServer server(loop, std::string(kGreeting.substr(0, 5)));
  const auto channel = channel_to(server.port, {.ready_within = 100ms});
  const auto call = start(*channel);
  ASSERT_TRUE(until([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome->code, Code::kUnavailable);
  EXPECT_EQ(outcome->word, Outcome::Word::kNeverLeft);
}

TEST_F(ChannelLeftTest, ACallLeavesWhenTheServerHasGreeted) {
  SilentServer server(loop, std::string(kGreeting));
  const auto channel = channel_to(server.port);
  const auto call = start(*channel, loop.now() + 10s);
  EXPECT_FALSE(call->left());
  ASSERT_TRUE(until([&] { return call->left(); }));
  EXPECT_FALSE(outcome);
}

// The connection ends and the call's time is over, both in one turn of a loop that was held up.
TEST_F(ChannelLeftTest, ACallThatHasLeftIsNobodysWordHoweverItEnds) {
  SilentServer server(loop, std::string(kGreeting));
  const auto channel =
      channel_to(server.port, {.ready_within = 10s, .ask_after = 100ms, .answer_within = 100ms});
  const MonoTime by = loop.now() + 350ms;
  const auto call = start(*channel, by);
  ASSERT_TRUE(until([&] { return call->left(); }));
  loop.run_until(by - 200ms);
  while (loop.now() <= by) {
  }
  ASSERT_TRUE(until([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome->word, Outcome::Word::kNobody) << outcome->message;
}

TEST_F(ChannelLeftTest, AServerThatGreetsAndHangsUpIsNotAskedAgainAtOnce) {
  for (const std::string& words :
       {std::string(kGreeting), std::string(kGreeting) + std::string(kGoAway)}) {
    SilentServer server(loop, words, words == kGreeting);
    const auto channel = channel_to(server.port);
    const MonoTime end = loop.now() + 500ms;
    while (loop.now() < end) {
      const auto call = start(*channel);
      ASSERT_TRUE(until([&] { return outcome.has_value(); }));
      // One that left before the connection broke is nobody's word.
      EXPECT_NE(outcome->word, Outcome::Word::kServer);
    }
    EXPECT_LT(server.connections, 15);
    EXPECT_GT(server.connections, 1);
  }
}

// Servers of gRPC hang up on clients that ping without a call.
TEST_F(ChannelLeftTest, ASilentConnectionWithoutCallsIsLeftAlone) {
  SilentServer server(loop, std::string(kGreeting));
  const auto channel =
      channel_to(server.port, {.ready_within = 10s, .ask_after = 50ms, .answer_within = 50ms});
  auto call = start(*channel);
  ASSERT_TRUE(until([&] { return call->left(); }));
  call.reset();
  loop.run_until(loop.now() + 400ms);
  EXPECT_TRUE(channel->connected());
  call = start(*channel);
  ASSERT_TRUE(until([&] { return outcome.has_value(); }));
  EXPECT_NE(outcome->message.find("fell silent"), std::string::npos);
  EXPECT_EQ(server.connections, 1);
}

}  // namespace channel_left_test
}  // namespace muster::rpc
