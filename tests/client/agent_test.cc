#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <map>

#include "client/node_agent.h"
#include "tests/support/scripted_coordinator.h"

namespace muster::client {
namespace agent_test {

NodeSpec spec(const std::string& id) {
  NodeSpec s;
  s.id = NodeId(id);
  s.address = "10.0.0.1";
  s.port = 7000;
  s.type = NodeType::kObject;
  return s;
}

/// A registry of the plainest kind: it knows generations and last reports, and refuses heartbeats
/// as a musterd does.
class Registry {
 public:
  explicit Registry(ScriptedCoordinator& server) {
    server.register_node = [this](auto&, const auto& request, auto&) {
      const MutexLock lock(mutex_);
      generations_[request.node().id()] = request.node().generation_id();
      changed_.notify_all();
      return grpc::Status::OK;
    };
    server.deregister_node = [this](auto&, const auto& request, auto&) {
      const MutexLock lock(mutex_);
      if (generations_[request.node_id()] != request.generation_id()) {
        return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "another generation");
      }
      generations_.erase(request.node_id());
      return grpc::Status::OK;
    };
    server.watch = [](auto& context, const auto&, auto&) {
      ScriptedCoordinator::stay(context);
      return grpc::Status::OK;
    };
    server.heartbeats = [this](auto&, auto& stream) {
      v1::HeartbeatBatch batch;
      while (stream.Read(&batch)) stream.Write(answer(batch));
      return grpc::Status::OK;
    };
  }

  /// After the server has stopped. gRPC's threads have let go of the maps by then, which only the
  /// mutex tells a sanitizer that does not look into gRPC.
  ~Registry() {
    const MutexLock lock(mutex_);
    generations_.clear();
    reports_.clear();
  }

  void set(const std::string& id, const std::string& generation) {
    const MutexLock lock(mutex_);
    generations_[id] = generation;
  }
  void forget(const std::string& id) {
    const MutexLock lock(mutex_);
    generations_.erase(id);
  }
  std::size_t size() {
    const MutexLock lock(mutex_);
    return generations_.size();
  }
  /// Until the node has reported that state, so many times.
  void await_report(const std::string& id, v1::NodeState state, int times = 1) {
    MutexLock lock(mutex_);
    while (reports_[{id, state}] < times) lock.wait(changed_);
  }

 private:
  v1::HeartbeatBatchResponse answer(const v1::HeartbeatBatch& batch) {
    const MutexLock lock(mutex_);
    v1::HeartbeatBatchResponse response;
    for (int i = 0; i < batch.heartbeats_size(); ++i) {
      const v1::HeartbeatRequest& beat = batch.heartbeats(i);
      const auto found = generations_.find(beat.node_id());
      if (found != generations_.end() && found->second == beat.generation_id()) {
        ++reports_[{beat.node_id(), beat.reported_state()}];
        continue;
      }
      v1::HeartbeatRefusal& refusal = *response.add_refused();
      refusal.set_position(static_cast<std::uint32_t>(i));
      const bool gone = found == generations_.end();
      refusal.set_code(gone ? grpc::StatusCode::NOT_FOUND : grpc::StatusCode::FAILED_PRECONDITION);
      refusal.set_message(gone ? "not registered" : "Zombie node detected");
      refusal.set_replaced(!gone);
    }
    changed_.notify_all();
    return response;
  }

  Mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> generations_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, int>, int> reports_ MUSTER_GUARDED_BY(mutex_);
};

/// What an agent told, for another thread to wait for.
class AgentLog {
 public:
  NodeAgent::Listener listener() {
    return [this](const AgentEvent& event) {
      const MutexLock lock(mutex_);
      events_.push_back(event);
      changed_.notify_all();
    };
  }
  AgentEvent await(AgentEventKind kind) {
    MutexLock lock(mutex_);
    while (true) {
      while (events_.empty()) lock.wait(changed_);
      const AgentEvent event = events_.front();
      events_.pop_front();
      if (event.kind == kind) return event;
    }
  }

 private:
  Mutex mutex_;
  std::condition_variable changed_;
  std::deque<AgentEvent> events_ MUSTER_GUARDED_BY(mutex_);
};

class NodeAgentTest : public testing::Test {
 protected:
  void SetUp() override {
    server.start();
    client = std::move(*SmartCoordinatorClient::create({server.address()}));
    AgentConfig config;
    config.heartbeat_interval = 30ms;
    config.first_delay = 10ms;
    config.answer_timeout = 500ms;
    agent = std::move(*NodeAgent::start(*client, config, log.listener()));
  }
  void TearDown() override {
    agent.reset();
    client.reset();
    server.stop();
  }
  AgentLog log;
  ScriptedCoordinator server;
  Registry registry{server};
  std::unique_ptr<SmartCoordinatorClient> client;
  std::unique_ptr<NodeAgent> agent;
};

TEST_F(NodeAgentTest, RegistersBeatsDrainsAndLeaves) {
  ASSERT_TRUE(agent->add(spec("a")));
  EXPECT_TRUE(agent->add(spec("a")).is(Errc::kConflict));
  EXPECT_TRUE(agent->add(spec("-")).is(Errc::kInvalid));
  const AgentEvent in = log.await(AgentEventKind::kRegistered);
  registry.await_report("a", v1::NODE_STATE_ACTIVE, 3);
  EXPECT_EQ(agent->generation(NodeId("a")), in.generation);
  EXPECT_TRUE(agent->silence());
  ASSERT_TRUE(agent->drain(NodeId("a")));
  registry.await_report("a", v1::NODE_STATE_DRAINING, 2);
  EXPECT_TRUE(agent->drain(NodeId("b")).is(Errc::kNotFound));
  EXPECT_TRUE(agent->stop());
  EXPECT_EQ(registry.size(), 0U);
}

TEST_F(NodeAgentTest, ManyNodesShareOneStream) {
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(agent->add(spec("n" + std::to_string(i))));
  for (int i = 0; i < 200; ++i) {
    registry.await_report("n" + std::to_string(i), v1::NODE_STATE_ACTIVE, 2);
  }
  EXPECT_TRUE(agent->stop());
  EXPECT_EQ(registry.size(), 0U);
}

TEST_F(NodeAgentTest, RegistersAnewWhatTheServersHaveLost) {
  ASSERT_TRUE(agent->add(spec("a")));
  const Generation first = log.await(AgentEventKind::kRegistered).generation;
  registry.forget("a");
  EXPECT_EQ(log.await(AgentEventKind::kLost).generation, first);
  EXPECT_NE(log.await(AgentEventKind::kRegistered).generation, first);
}

TEST_F(NodeAgentTest, StopsForGoodWhenReplaced) {
  ASSERT_TRUE(agent->add(spec("a")));
  log.await(AgentEventKind::kRegistered);
  registry.set("a", "someone else");
  EXPECT_EQ(log.await(AgentEventKind::kReplaced).node, NodeId("a"));
  EXPECT_TRUE(agent->stop());
  EXPECT_EQ(registry.size(), 1U) << "the one that took the place must stay";
}

// P17: heartbeats survive the restart of a server, over and over.
TEST_F(NodeAgentTest, SurvivesServersThatRestart) {
  ASSERT_TRUE(agent->add(spec("a")));
  log.await(AgentEventKind::kRegistered);
  for (int i = 1; i <= 5; ++i) {
    server.stop();
    log.await(AgentEventKind::kUnreachable);
    server.start();
    log.await(AgentEventKind::kReachable);
  }
  EXPECT_TRUE(agent->stop());
}

TEST_F(NodeAgentTest, NothingIsLeftWhenItIsDestroyedInTheMiddleOfThings) {
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(agent->add(spec("n" + std::to_string(i))));
  agent.reset();
  EXPECT_TRUE(client->call(HealthCheck{}).is(Errc::kUnsupported)) << "the client lives on";
}

}  // namespace agent_test
}  // namespace muster::client
