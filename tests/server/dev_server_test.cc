#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {
namespace dev_server_test {

using grpc::StatusCode;

/// One server on a directory.
class DevServerTest : public ::testing::Test {
 protected:
  Musterd& server() {
    if (!server_) {
      server_.emplace("s1", "file://" + (dir_.path() / "store").string(), dir_.path(), extra_);
    }
    return *server_;
  }
  bool leads() {
    return eventually([&] { return health(server()).raft_state() == v1::RAFT_STATE_LEADER; });
  }
  bool becomes(const std::string& id, v1::NodeState state) {
    return eventually([&] {
      const auto found = find(topology(server()), id);
      return found && found->state() == state;
    });
  }

  TempDir dir_;
  std::vector<std::string> extra_;
  std::optional<Musterd> server_;
};

TEST_F(DevServerTest, ANodeLivesThroughItsStates) {
  ASSERT_TRUE(leads());
  v1::RegisterNodeResponse registered;
  ASSERT_TRUE(register_node(server(), node("n1"), &registered).ok());
  EXPECT_EQ(registered.topology_version(), 1U);
  EXPECT_FALSE(registered.already_registered());
  EXPECT_EQ(find(topology(server()), "n1")->state(), v1::NODE_STATE_JOINING);
  EXPECT_GT(find(topology(server()), "n1")->last_heartbeat_at(), 0) << "T08: the clock runs";

  v1::HeartbeatResponse beat;
  ASSERT_TRUE(heartbeat(server(), "n1", 1, v1::NODE_STATE_ACTIVE, &beat).ok());
  EXPECT_TRUE(beat.refresh_required());
  EXPECT_EQ(beat.leader_id(), "s1");
  EXPECT_EQ(beat.leader_address(), server().address());
  EXPECT_EQ(beat.raft_term(), 1U);
  ASSERT_TRUE(becomes("n1", v1::NODE_STATE_ACTIVE));

  ASSERT_TRUE(heartbeat(server(), "n1", 1, v1::NODE_STATE_DRAINING).ok());
  ASSERT_TRUE(becomes("n1", v1::NODE_STATE_DRAINING));

  v1::DeregisterNodeRequest request;
  request.set_node_id("n1");
  v1::DeregisterNodeResponse gone;
  Context context;
  ASSERT_TRUE(server().coordinator().DeregisterNode(&context, request, &gone).ok());
  EXPECT_EQ(gone.topology_version(), 4U);
  EXPECT_FALSE(find(topology(server()), "n1"));
}

// T07, T10, T11, T12.
TEST_F(DevServerTest, RegistrationIsIdempotentAndAnIdHasOneHolder) {
  ASSERT_TRUE(leads());
  ASSERT_TRUE(register_node(server(), node("n1")).ok());
  v1::RegisterNodeResponse again;
  ASSERT_TRUE(register_node(server(), node("n1"), &again).ok());
  EXPECT_TRUE(again.already_registered());
  EXPECT_EQ(again.topology_version(), 1U);

  v1::NodeInfo other = node("n1", 2);
  other.set_address("10.0.0.2");
  const grpc::Status taken = register_node(server(), other);
  EXPECT_EQ(taken.error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_NE(taken.error_message().find("10.0.0.1:7000"), std::string::npos)
      << "names the holder: " << taken.error_message();
  other = node("n1", 2);
  other.set_type(v1::NODE_TYPE_METADATA);
  EXPECT_EQ(register_node(server(), other).error_code(), StatusCode::ALREADY_EXISTS);

  // The same place with a new generation: the process was restarted.
  ASSERT_TRUE(register_node(server(), node("n1", 3)).ok());
  const grpc::Status zombie = heartbeat(server(), "n1", 1);
  EXPECT_EQ(zombie.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(zombie.error_message().find("Zombie node detected"), std::string::npos);
  EXPECT_EQ(register_node(server(), node("n1", 1)).error_code(), StatusCode::FAILED_PRECONDITION)
      << "a replaced generation does not return";

  v1::NodeInfo frontend = node("f1");
  frontend.set_type(v1::NODE_TYPE_FRONTEND);
  v1::NodeInfo metadata = node("m1");
  metadata.set_type(v1::NODE_TYPE_METADATA);
  ASSERT_TRUE(register_node(server(), frontend).ok());
  ASSERT_TRUE(register_node(server(), metadata).ok());
  const auto all = topology(server());
  EXPECT_EQ(all.frontend_nodes_size(), 1);
  EXPECT_EQ(all.metadata_nodes_size(), 1);
  EXPECT_EQ(all.object_nodes_size(), 1);
  EXPECT_EQ(all.version(), 4U);
  EXPECT_EQ(all.hash_ring_config().virtual_nodes_per_physical(), 16U);
  EXPECT_EQ(all.leader_id(), "s1");
}

TEST_F(DevServerTest, BadInputIsRefusedWithTheFieldAndTheRule) {
  ASSERT_TRUE(leads());
  const auto refusal = [&](const std::function<void(v1::NodeInfo&)>& spoil) {
    v1::NodeInfo info = node("n1");
    spoil(info);
    const grpc::Status status = register_node(server(), info);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  EXPECT_NE(refusal([](auto& n) { n.set_id("-n"); }).find("id"), std::string::npos);
  EXPECT_NE(refusal([](auto& n) { n.set_address("a b"); }).find("address"), std::string::npos);
  EXPECT_NE(refusal([](auto& n) { n.set_port(70000); }).find("port"), std::string::npos);
  EXPECT_NE(refusal([](auto& n) { n.set_generation_id("x"); }).find("generation_id"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& n) { n.set_type(static_cast<v1::NodeType>(9)); }).find("type"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& n) { n.clear_type(); }).find("type"), std::string::npos);
  ASSERT_TRUE(register_node(server(), node("n1")).ok());
  EXPECT_EQ(heartbeat(server(), "n1", 1, static_cast<v1::NodeState>(17)).error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(heartbeat(server(), "n1", 1, v1::NODE_STATE_DOWN).error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(heartbeat(server(), "n2").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(put(server(), "big", std::string(3 << 20, 'x')).error_code(),
            StatusCode::RESOURCE_EXHAUSTED)
      << "an oversized message is refused";
  EXPECT_EQ(put(server(), "big", std::string(300 << 10, 'x')).error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(topology(server()).version(), 1U) << "a refused call changes nothing";
}

// T03.
TEST_F(DevServerTest, AKilledServerLosesNothingThatWasAcknowledged) {
  ASSERT_TRUE(leads());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(register_node(server(), node("n" + std::to_string(i))).ok());
    ASSERT_TRUE(put(server(), "k/" + std::to_string(i), "v").ok());
  }
  server().kill();
  server().start();
  EXPECT_EQ(topology(server()).version(), 20U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(server(), "k/" + std::to_string(i)), "v");
  ASSERT_TRUE(leads());
  EXPECT_EQ(health(server()).raft_term(), 2U);
  ASSERT_TRUE(register_node(server(), node("after")).ok());
}

// T06.
TEST_F(DevServerTest, SigtermWritesTheHeartbeatsThatWereGathered) {
  extra_ = {"--heartbeat-interval",
            "40s",
            "--heartbeat-batch-interval",
            "30s",
            "--suspect-timeout",
            "130s",
            "--down-timeout",
            "260s",
            "--leader-grace-period",
            "260s"};
  ASSERT_TRUE(leads());
  ASSERT_TRUE(register_node(server(), node("n1")).ok());
  ASSERT_TRUE(heartbeat(server(), "n1").ok());
  EXPECT_EQ(find(topology(server()), "n1")->state(), v1::NODE_STATE_JOINING);
  EXPECT_EQ(server().terminate(), 0);
  server().start();
  EXPECT_EQ(find(topology(server()), "n1")->state(), v1::NODE_STATE_ACTIVE);
}

// T13, T16.
TEST_F(DevServerTest, AWatchBeginsWithEverythingAndGoesOnWithoutAGap) {
  ASSERT_TRUE(leads());
  ASSERT_TRUE(register_node(server(), node("n1")).ok());
  Context context(20s);
  auto reader = server().coordinator().WatchTopology(&context, v1::WatchTopologyRequest{});
  v1::TopologyUpdate update;
  ASSERT_TRUE(reader->Read(&update));
  ASSERT_TRUE(update.has_full_sync());
  EXPECT_EQ(update.version(), 1U);
  EXPECT_TRUE(find(update.full_sync(), "n1"));
  const std::string history = update.full_sync().history();
  EXPECT_FALSE(history.empty());
  ASSERT_TRUE(register_node(server(), node("n2")).ok());
  ASSERT_TRUE(heartbeat(server(), "n2").ok());
  ASSERT_TRUE(reader->Read(&update));
  EXPECT_EQ(update.node_added().id(), "n2");
  EXPECT_EQ(update.previous_version(), 1U);
  EXPECT_EQ(update.version(), 2U);
  ASSERT_TRUE(reader->Read(&update));
  EXPECT_EQ(update.node_updated().state(), v1::NODE_STATE_ACTIVE);
  EXPECT_EQ(update.previous_version(), 2U);

  // Anyone who has the current version hears at once that the watch stands; an older one gets an
  // exact replay.
  v1::WatchTopologyRequest request;
  request.set_since_version(3);
  Context current(20s);
  auto quiet = server().coordinator().WatchTopology(&current, request);
  ASSERT_TRUE(quiet->Read(&update));
  EXPECT_TRUE(update.has_keepalive());
  request.set_since_version(1);
  Context older(20s);
  auto replay = server().coordinator().WatchTopology(&older, request);
  ASSERT_TRUE(replay->Read(&update));
  EXPECT_EQ(update.node_added().id(), "n2");
  EXPECT_EQ(health(server()).watch_subscribers(), 3U);

  // A version of another history, as before a restore, means nothing here.
  request.set_history(history);
  Context same(20s);
  auto known = server().coordinator().WatchTopology(&same, request);
  ASSERT_TRUE(known->Read(&update));
  EXPECT_EQ(update.node_added().id(), "n2");
  request.set_history("another");
  Context restored(20s);
  auto anew = server().coordinator().WatchTopology(&restored, request);
  ASSERT_TRUE(anew->Read(&update));
  EXPECT_TRUE(update.has_full_sync());
  EXPECT_EQ(update.full_sync().history(), history);
  same.TryCancel();
  restored.TryCancel();

  // T17: a place is given back.
  older.TryCancel();
  current.TryCancel();
  context.TryCancel();
  EXPECT_TRUE(eventually([&] { return health(server()).watch_subscribers() == 0; }));
}

TEST_F(DevServerTest, ManyNodesBeatInOneMessage) {
  ASSERT_TRUE(leads());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(register_node(server(), node("n" + std::to_string(i))).ok());
  }
  Context context(20s);
  auto stream = server().coordinator().HeartbeatStream(&context);
  v1::HeartbeatBatch batch;
  for (int i = 0; i < 51; ++i) {
    v1::HeartbeatRequest& beat = *batch.add_heartbeats();
    beat.set_node_id("n" + std::to_string(i));
    beat.set_generation_id(uuid(i == 7 ? 9 : 1));
    beat.set_reported_state(v1::NODE_STATE_ACTIVE);
  }
  v1::HeartbeatBatchResponse response;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(stream->Write(batch));
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.refused_size(), 2);
    EXPECT_EQ(response.refused(0).position(), 7U);
    EXPECT_EQ(response.refused(0).code(), StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(response.refused(1).position(), 50U);
    EXPECT_EQ(response.refused(1).code(), StatusCode::NOT_FOUND);
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(eventually([&] { return health(server()).active_nodes() == 49; }));
}

// Takes about 6 s: a node is DOWN after 5 s of silence, but not before the leader's grace of 6 s is
// over.
TEST_F(DevServerTest, SilenceIsNoticedAndAHeartbeatForgives) {
  extra_ = {"--heartbeat-interval",
            "200ms",
            "--heartbeat-batch-interval",
            "100ms",
            "--suspect-timeout",
            "3s",
            "--down-timeout",
            "5s",
            "--leader-grace-period",
            "6s"};
  ASSERT_TRUE(leads());
  ASSERT_TRUE(register_node(server(), node("n1")).ok());
  ASSERT_TRUE(register_node(server(), node("n2")).ok());
  ASSERT_TRUE(heartbeat(server(), "n1").ok());
  ASSERT_TRUE(heartbeat(server(), "n2").ok());
  ASSERT_TRUE(becomes("n1", v1::NODE_STATE_SUSPECT));
  EXPECT_EQ(find(topology(server()), "n1")->suspect_count(), 1U);
  ASSERT_TRUE(heartbeat(server(), "n1").ok());
  ASSERT_TRUE(becomes("n1", v1::NODE_STATE_ACTIVE));
  ASSERT_TRUE(becomes("n2", v1::NODE_STATE_DOWN));
  EXPECT_EQ(heartbeat(server(), "n2").error_code(), StatusCode::FAILED_PRECONDITION);
  ASSERT_TRUE(register_node(server(), node("n2", 2)).ok()) << "a new generation may return";
}

std::string call_raw(Musterd& server, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(server.channel());
  grpc::CompletionQueue queue;
  Context context;
  const grpc::Slice slice(request);
  const grpc::ByteBuffer bytes(&slice, 1);
  auto call = stub.PrepareUnaryCall(&context, method, bytes, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) return "error " + std::to_string(status.error_code());
  grpc::Slice all;
  EXPECT_TRUE(response.DumpToSingleSlice(&all).ok());
  return {reinterpret_cast<const char*>(all.begin()), all.size()};
}

TEST_F(DevServerTest, HealthAndReflectionAreThere) {
  ASSERT_TRUE(leads());
  // HealthCheckResponse{status: SERVING}
  EXPECT_TRUE(eventually(
      [&] { return call_raw(server(), "/grpc.health.v1.Health/Check", "") == "\x08\x01"; }));
  // ServerReflectionRequest{list_services: "*"}
  const std::string services = call_raw(
      server(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*");
  for (const char* name : {"muster.v1.CoordinatorService", "muster.v1.StoreService",
                           "muster.v1.AdminService", "grpc.health.v1.Health"}) {
    EXPECT_NE(services.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(call_raw(server(), "/muster.v1.CoordinatorService/NoSuchMethod", ""),
            "error " + std::to_string(StatusCode::UNIMPLEMENTED));
  EXPECT_EQ(call_raw(server(), "/muster.v1.CoordinatorService/RegisterNode", "\xff"),
            "error " + std::to_string(StatusCode::INVALID_ARGUMENT));
}

TEST_F(DevServerTest, AnOperatorDrainsANodeAndChangesTheRing) {
  ASSERT_TRUE(leads());
  ASSERT_TRUE(register_node(server(), node("n1")).ok());
  ASSERT_TRUE(heartbeat(server(), "n1").ok());
  ASSERT_TRUE(becomes("n1", v1::NODE_STATE_ACTIVE));
  v1::DrainNodeRequest drain;
  drain.set_node_id("n1");
  v1::DrainNodeResponse drained;
  Context first;
  ASSERT_TRUE(server().admin().DrainNode(&first, drain, &drained).ok());
  EXPECT_EQ(drained.topology_version(), 3U);
  EXPECT_TRUE(find(topology(server()), "n1")->drain_requested());
  v1::SetHashRingRequest ring;
  ring.mutable_config()->set_virtual_nodes_per_physical(32);
  ring.mutable_config()->set_replication_factor(2);
  v1::SetHashRingResponse changed;
  Context second;
  ASSERT_TRUE(server().admin().SetHashRing(&second, ring, &changed).ok());
  EXPECT_EQ(topology(server()).hash_ring_config().virtual_nodes_per_physical(), 32U);
  Context third;
  ring.mutable_config()->set_replication_factor(0);
  EXPECT_EQ(server().admin().SetHashRing(&third, ring, &changed).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

// An engine that was wiped looks like a new one. Anyone who has served the old one knows better.
TEST_F(DevServerTest, AServerThatKnowsItsLogFoundsNoOther) {
  const auto data = dir_.path() / "data";
  extra_ = {"--data-dir", data.string()};
  ASSERT_TRUE(leads());
  ASSERT_TRUE(put(server(), "k", "v").ok());
  server().kill();
  std::filesystem::rename(dir_.path() / "store", dir_.path() / "aside");
  const std::string engine = "file://" + (dir_.path() / "store").string();
  EXPECT_THROW(Musterd("s1", engine, dir_.path(), extra_), std::runtime_error);
  std::filesystem::remove_all(dir_.path() / "store");
  std::filesystem::rename(dir_.path() / "aside", dir_.path() / "store");
  server().start();
  EXPECT_EQ(get(server(), "k"), "v");
}

TEST(MusterdProgramTest, SaysWhatItDoesNotDo) {
  EXPECT_EQ(run_program({MUSTERD_PROGRAM, "--engine", "managed"}), 64);
  EXPECT_EQ(run_program({MUSTERD_PROGRAM, "--insecure", "--listen", "0.0.0.0:9000", "--engine",
                         "file:///nowhere"}),
            64)
      << "plaintext is for loopback";
  EXPECT_EQ(run_program({MUSTERD_PROGRAM, "--no-such-option"}), 64);
  EXPECT_EQ(run_program({MUSTERD_PROGRAM, "--version"}), 0);
}

// What may pass has a code of its own, so that a service manager tries again.
TEST(MusterdProgramTest, AnAddressThatCannotBeHadNowIsExitCode69) {
  const TempDir dir;
  const std::string engine = "file://" + (dir.path() / "store").string();
  Musterd first("s1", engine, dir.path(), {});
  EXPECT_EQ(run_program({MUSTERD_PROGRAM, "--insecure", "--id", "s2", "--listen", first.address(),
                         "--http-listen", "off", "--engine", engine}),
            69);
}

}  // namespace dev_server_test
}  // namespace muster::testing
