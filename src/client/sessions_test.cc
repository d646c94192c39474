#include <optional>

#include <gtest/gtest.h>

#include "client/agent_session.h"
#include "client/client_test_transport.h"
#include "client/watch_session.h"
#include "client/wire.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::client {
namespace sessions_test {

using testing::TestTransport;

class SessionTest : public ::testing::Test {
 protected:
  std::shared_ptr<TestTransport::Opened> last() { return transport.streams().back(); }

  sim::World world{1};
  sim::Process process{world, 1.0, 0s};
  TestTransport transport{process};
  Caller caller{transport, {"a:1", "b:1"}, RetryConfig{}, Random(1)};
};

class WatchSessionTest : public SessionTest {
 protected:
  void start() {
    watch.emplace(caller, WatchConfig{},
                  [this](const WatchEvent& event) { words.push_back(to_string(event.kind)); });
  }
  static std::string sync(std::uint64_t version) {
    v1::TopologyUpdate update;
    update.set_version(version);
    update.mutable_full_sync()->set_version(version);
    return update.SerializeAsString();
  }
  static std::uint64_t since(const TestTransport::Opened& stream) {
    v1::WatchTopologyRequest request;
    EXPECT_TRUE(request.ParseFromString(stream.sent.at(0)));
    return request.since_version();
  }
  std::optional<WatchSession> watch;
  std::vector<std::string> words;
};

TEST_F(WatchSessionTest, ASilentServerIsLeftForAnotherAfterSixtySeconds) {
  start();
  ASSERT_EQ(transport.streams().size(), 1U);
  const auto first = last();
  first->deliver(sync(3));
  world.run(59s);
  EXPECT_EQ(transport.streams().size(), 1U);
  world.run(61s);
  ASSERT_EQ(transport.streams().size(), 2U);
  EXPECT_TRUE(first->over);
  EXPECT_NE(last()->server, first->server);
  EXPECT_EQ(since(*last()), 3U);
  EXPECT_EQ(words, (std::vector<std::string>{"snapshot", "disconnected"}));
}

TEST_F(WatchSessionTest, TheHistoryIsNamedWhereItWasTold) {
  start();
  v1::TopologyUpdate update;
  update.set_version(3);
  update.mutable_full_sync()->set_version(3);
  update.mutable_full_sync()->set_history("h1");
  last()->deliver(update.SerializeAsString());
  last()->end({RpcCode::kUnavailable, "stops", Reach::kAnswered, {}});
  world.run(world.now() + 10s);
  ASSERT_EQ(transport.streams().size(), 2U);
  v1::WatchTopologyRequest request;
  ASSERT_TRUE(request.ParseFromString(last()->sent.at(0)));
  EXPECT_EQ(request.since_version(), 3U);
  EXPECT_EQ(request.history(), "h1");
}

TEST_F(WatchSessionTest, ServersThatAreAwayAreToldOfOnceAndAskedEverMoreSeldom) {
  start();
  for (int i = 0; i < 2000 && world.now() < 600s; ++i) {
    last()->end({RpcCode::kUnavailable, "refused", Reach::kUnsent, {}});
    world.run(world.now() + 100ms);
  }
  EXPECT_EQ(words, std::vector<std::string>{"disconnected"});
  EXPECT_LT(transport.streams().size(), 70U) << "200 s at 5 s each, and a few quick ones";
}

TEST_F(WatchSessionTest, WhatIsNoMessageEndsTheStream) {
  start();
  const auto first = last();
  first->deliver("\xff\xff");
  EXPECT_TRUE(first->over);
  world.run(1s);
  EXPECT_EQ(transport.streams().size(), 2U);
}

class AgentSessionTest : public SessionTest {
 protected:
  void SetUp() override {
    transport.serve = [](const auto&, const auto&, const TestTransport::Reply& reply) {
      reply({}, "");
    };
    agent.emplace(caller, AgentConfig{},
                  [this](const AgentEvent& event) { words.push_back(to_string(event.kind)); });
    NodeSpec spec;
    spec.id = NodeId("a");
    EXPECT_TRUE(agent->machine().add(spec, process.now()));
    agent->pump();
  }
  /// Runs for that long while servers answer every heartbeat; returns how many there were.
  std::size_t run_answering(Duration time) {
    std::size_t beats = 0;
    for (const sim::TrueTime until = world.now() + time; world.now() < until;) {
      world.run(world.now() + 100ms);
      for (const auto& stream : transport.streams()) {
        if (stream->over) continue;
        for (std::size_t i = 0; i < std::exchange(stream->sent, {}).size(); ++i) {
          ++beats;
          stream->deliver(v1::HeartbeatBatchResponse().SerializeAsString());
        }
      }
    }
    return beats;
  }
  std::optional<AgentSession> agent;
  std::vector<std::string> words;
};

// Its registration was applied and the answer lost; before it asked again, another came.
TEST_F(AgentSessionTest, WhoWasReplacedBeforeItKnewThatItWasInStaysOut) {
  run_answering(1s);
  int asked = 0;
  transport.serve = [&](const auto&, const std::string& method, const TestTransport::Reply& reply) {
    if (!method.ends_with("/RegisterNode")) return reply({}, "");
    ++asked;
    RpcStatus status{RpcCode::kFailedPrecondition, "it has been replaced", Reach::kAnswered, {}};
    status.replaced = true;
    reply(status, "");
  };
  NodeSpec spec;
  spec.id = NodeId("b");
  ASSERT_TRUE(agent->machine().add(spec, process.now()));
  agent->pump();
  run_answering(60s);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(words, (std::vector<std::string>{"registered", "replaced"}));
}

TEST_F(AgentSessionTest, BeatsEveryTenSecondsAndALittleEarlier) {
  const std::size_t beats = run_answering(600s);
  EXPECT_GE(beats, 60U);
  EXPECT_LE(beats, 68U);
  EXPECT_EQ(transport.streams().size(), 1U) << "one stream for all of them";
  EXPECT_EQ(words, std::vector<std::string>{"registered"});
}

TEST_F(AgentSessionTest, AServerThatDoesNotAnswerHeartbeatsIsLeftForAnother) {
  world.run(1s);
  ASSERT_EQ(transport.streams().size(), 1U);
  const auto first = last();
  world.run(7s);
  ASSERT_EQ(transport.streams().size(), 2U);
  EXPECT_TRUE(first->over);
  EXPECT_NE(last()->server, first->server);
  EXPECT_GE(run_answering(10s), 1U);
  EXPECT_EQ(words, (std::vector<std::string>{"registered", "unreachable", "reachable"}));
}

TEST_F(AgentSessionTest, AHeartbeatToAFollowerGoesToTheLeaderItNames) {
  world.run(1s);
  last()->end({RpcCode::kFailedPrecondition, "not me", Reach::kAnswered, "leader:9"});
  world.run(3s);
  EXPECT_EQ(last()->server, "leader:9");
}

}  // namespace sessions_test
}  // namespace muster::client
