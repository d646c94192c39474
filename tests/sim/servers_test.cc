// Servers on a simulated engine, an hour in a moment: what they tell of themselves and each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/store.pb.h"
#include "tests/sim/cluster/hosts.h"

namespace muster::sim {
namespace servers_test {

using cluster::DecisionKind;

/// Three servers and an engine that pushes, as etcd does, or one that does not, as S3.
class ServersTest : public ::testing::TestWithParam<bool> {
 protected:
  ServersTest() {
    set_log_sink([](const LogLine&) {});
    store_->guarded_put = GetParam();
    store_->watch = GetParam();
    setting_.server.lease_timeout = 2s;
    for (int i = 1; i <= 3; ++i) {
      setting_.servers.push_back("s" + std::to_string(i) + ":9000");
      servers_.push_back(std::make_unique<ServerHost>(setting_, setting_.servers.back()));
    }
    for (const auto& server : servers_) server->start();
    run(20s);
  }
  ~ServersTest() override {
    for (const auto& server : servers_) server->kill();
    EXPECT_EQ(invariants_.violation(), "");
    set_log_sink({});
  }

  void run(Duration time) { world_.run(world_.now() + time); }
  ServerHost& leader() {
    for (const auto& server : servers_) {
      if (server->runs() && server->peer().leader().self) return *server;
    }
    ADD_FAILURE() << "nobody leads";
    return *servers_[0];
  }
  ServerHost& follower() {
    for (const auto& server : servers_) {
      if (server->runs() && !server->peer().leader().self) return *server;
    }
    ADD_FAILURE() << "nobody follows";
    return *servers_[0];
  }
  /// The sentences of that kind, the oldest first.
  std::vector<std::string> told(DecisionKind kind) {
    std::vector<std::string> sentences;
    const auto& log = leader().peer().replica().state().decisions();
    for (const auto& each : log.last(log.size())) {
      if (each->kind == kind) sentences.push_back(sentence(*each));
    }
    return sentences;
  }

  World world_{1};
  std::shared_ptr<SharedStore> store_ = std::make_shared<SharedStore>();
  Network network_{world_};
  WorkJournal journal_;
  Setting setting_{world_, network_, store_, invariants_, {}, {}, journal_, 0};
  Invariants invariants_{world_, store_, setting_.server.membership, 0};
  std::vector<std::unique_ptr<ServerHost>> servers_;
};

TEST_P(ServersTest, AnIdleHourHasNothingToTell) {
  const auto before = leader().peer().replica().state().decisions().newest();
  run(1h);
  EXPECT_TRUE(told(DecisionKind::kEngine).empty());
  EXPECT_EQ(leader().peer().replica().state().decisions().newest(), before);
}

TEST_P(ServersTest, AnEngineThatWasAwayIsTold) {
  store_->faults.down = true;
  run(40s);
  store_->faults.down = false;
  run(20s);
  ASSERT_EQ(told(DecisionKind::kEngine).size(), 1U);
  EXPECT_NE(told(DecisionKind::kEngine)[0].find("the engine is reachable again; it did not answer"),
            std::string::npos);
}

TEST_P(ServersTest, AServerThatGoesAndComesIsTold) {
  ServerHost& gone = follower();
  const std::string name = "server " + gone.name().substr(0, gone.name().find(':'));
  gone.kill();
  run(30s);
  const std::string went = name + " is unreachable; not heard for 10s";
  ASSERT_FALSE(told(DecisionKind::kServer).empty());
  EXPECT_EQ(told(DecisionKind::kServer).back(), went);
  const std::size_t count = told(DecisionKind::kServer).size();
  // The next leader knows that it has been told.
  leader().kill();
  run(60s);
  for (const auto& server : servers_) {
    if (!server->runs() && server.get() != &gone) server->start();
  }
  run(60s);
  const auto later = told(DecisionKind::kServer);
  EXPECT_EQ(std::count(later.begin(), later.end(), went), 1) << count;
  gone.start();
  run(20s);
  EXPECT_EQ(told(DecisionKind::kServer).back(), name + " is reachable again");
}

// An agent's stream through a follower outlives the leader: it costs time and no error.
TEST_P(ServersTest, AStreamOfHeartbeatsWaitsForTheNextLeader) {
  Process agent(world_, 1, 0s);
  SimTransport transport(network_, "agent", agent);
  ServerHost& through = follower();
  const auto connection = transport.connect(through.name());
  int answers = 0;
  bool ended = false;
  client::StreamEvents events;
  events.message = [&](const std::string&) { ++answers; };
  events.end = [&](const client::RpcStatus&) { ended = true; };
  const auto stream = connection->stream("/muster.v1.CoordinatorService/HeartbeatStream",
                                         std::nullopt, std::move(events));
  stream->send(v1::HeartbeatBatch().SerializeAsString());
  run(1s);
  ASSERT_EQ(answers, 1);
  leader().kill();
  while (!through.peer().leader().id.empty()) run(10ms);
  stream->send(v1::HeartbeatBatch().SerializeAsString());
  run(15s);
  EXPECT_FALSE(ended);
  EXPECT_EQ(answers, 2);
}

// As operating.md promises: held until someone leads, at most until shortly before its deadline,
// when the server says that nothing was done. After the deadline its client could not know.
TEST_P(ServersTest, AWriteWaitsForTheNextLeaderAndHearsInTimeThatNothingWasDone) {
  Process client(world_, 1, 0s);
  SimTransport transport(network_, "client", client);
  ServerHost& through = follower();
  const auto connection = transport.connect(through.name());
  std::optional<client::RpcStatus> status;
  MonoTime answered{};
  std::unique_ptr<client::Call> call;
  const auto put = [&](const std::string& key, Duration within) {
    v1::StorePutRequest request;
    request.set_key(key);
    request.set_value("v");
    status.reset();
    call = connection->unary("/muster.v1.StoreService/Put", request.SerializeAsString(),
                             client.now() + within,
                             [&](const client::RpcStatus& told, const std::string&) {
                               status = told;
                               answered = client.now();
                             });
  };
  leader().kill();
  while (!through.peer().leader().id.empty()) run(10ms);
  put("k1", 9s);
  run(10s);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(status->ok()) << status->message;

  store_->faults.down = true;
  run(10s);
  const MonoTime begun = client.now();
  put("k2", 2s);
  run(3s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, client::RpcCode::kUnavailable);
  EXPECT_EQ(status->reach, client::Reach::kAnswered);
  EXPECT_GE(answered - begun, 1500ms);
  EXPECT_LT(answered - begun, 1850ms) << "an eighth of the time is for the way back";
  store_->faults.down = false;
  run(20s);
  EXPECT_EQ(leader().peer().replica().state().kv().find("k2"), nullptr);
}

/// An operator's calls to the servers.
class ServersOperatorTest : public ServersTest {
 protected:
  /// What the servers answer within 20 s.
  client::RpcStatus ask(ServerHost& through, const std::string& method,
                        const google::protobuf::MessageLite& request) {
    const auto connection = transport_.connect(through.name());
    std::optional<client::RpcStatus> status;
    const auto call = connection->unary(
        "/muster.v1.AdminService/" + method, request.SerializeAsString(), operator_.now() + 15s,
        [&](const client::RpcStatus& told, const std::string&) { status = told; });
    run(20s);
    EXPECT_TRUE(status.has_value());
    return status.value_or(client::RpcStatus{});
  }
  client::RpcStatus remove(const std::string& id) {
    v1::RemoveServerRequest request;
    request.set_id(id);
    return ask(leader(), "RemoveServer", request);
  }
  client::RpcStatus transfer(const std::string& id) {
    v1::TransferLeadershipRequest request;
    request.set_to(id);
    return ask(leader(), "TransferLeadership", request);
  }
  static std::string id_of(const ServerHost& server) {
    return server.name().substr(0, server.name().find(':'));
  }
  bool knows(const std::string& id) {
    return leader().peer().replica().state().server(id) != nullptr;
  }

  Process operator_{world_, 1, 0s};
  SimTransport transport_{network_, "operator", operator_};
};

TEST_P(ServersOperatorTest, AServerThatRunsIsNotRemovedBeforeItHasStopped) {
  ServerHost& running = follower();
  const std::string id = id_of(running);
  const client::RpcStatus refused = remove(id);
  EXPECT_EQ(refused.code, client::RpcCode::kFailedPrecondition);
  EXPECT_NE(refused.message.find("stop it first"), std::string::npos) << refused.message;
  EXPECT_TRUE(knows(id));
  running.kill();
  run(15s);
  const client::RpcStatus removed = remove(id);
  EXPECT_EQ(removed.code, client::RpcCode::kOk) << removed.message;
  EXPECT_FALSE(knows(id));
}

TEST_P(ServersOperatorTest, ARemovalThatIsNotWrittenIsNotAcknowledged) {
  ServerHost& gone = follower();
  const std::string id = id_of(gone);
  gone.kill();
  run(15s);
  store_->faults.disk_full = true;
  EXPECT_NE(remove(id).code, client::RpcCode::kOk);
  store_->faults.disk_full = false;
  run(60s);
  EXPECT_TRUE(knows(id));
  EXPECT_EQ(remove(id).code, client::RpcCode::kOk);
  EXPECT_FALSE(knows(id));
}

TEST_P(ServersOperatorTest, TheLeadershipIsNotHandedToASilentServerOrToTheLeader) {
  const std::string first = id_of(leader());
  const Epoch epoch = leader().peer().leader().epoch;
  ServerHost& gone = follower();
  gone.kill();
  run(15s);
  const client::RpcStatus silent = transfer(id_of(gone));
  EXPECT_EQ(silent.code, client::RpcCode::kFailedPrecondition);
  EXPECT_NE(silent.message.find("silent"), std::string::npos) << silent.message;
  const client::RpcStatus same = transfer(first);
  EXPECT_EQ(same.code, client::RpcCode::kFailedPrecondition);
  EXPECT_EQ(same.message, "server " + first + " leads already");
  EXPECT_EQ(id_of(leader()), first);
  EXPECT_EQ(leader().peer().leader().epoch, epoch) << "nobody stepped down";
  const std::string second = id_of(follower());
  EXPECT_EQ(transfer(second).code, client::RpcCode::kOk);
  EXPECT_EQ(id_of(leader()), second);
}

INSTANTIATE_TEST_SUITE_P(Engines, ServersOperatorTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "pushes" : "is_polled"; });
INSTANTIATE_TEST_SUITE_P(Engines, ServersTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "pushes" : "is_polled"; });

}  // namespace servers_test
}  // namespace muster::sim
