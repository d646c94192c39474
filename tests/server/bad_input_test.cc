// What no client of ours sends: a server refuses it by name, or hangs up, and goes on.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <functional>

#include "base/random.h"
#include "platform/testing/loopback.h"
#include "platform/unique_fd.h"
#include "tests/server/managed_scene.h"

namespace muster::testing {
namespace bad_input_test {

using grpc::StatusCode;

class BadInputTest : public ::testing::Test {
 protected:
  BadInputTest() {
    EXPECT_TRUE(eventually([&] { return register_node(server_, node("n1")).ok(); }));
  }

  /// Calls `method` with an otherwise good request that `spoil` has spoilt; the refusal must be
  /// INVALID_ARGUMENT and name `field`.
  template <typename Stub, typename Request, typename Response>
  void refused(Stub& stub,
               grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
               const Request& request, const std::string& field) {
    Response response;
    Context context;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT)
        << field << ": " << request.ShortDebugString().substr(0, 200) << status.error_message();
    EXPECT_NE(status.error_message().find(field), std::string::npos) << status.error_message();
    // A rule, not only a complaint.
    EXPECT_NE(status.error_message().find("must"), std::string::npos) << status.error_message();
  }
  void node_refused(const std::function<void(v1::NodeInfo&)>& spoil, const std::string& field) {
    v1::RegisterNodeRequest request;
    *request.mutable_node() = node("n2");
    spoil(*request.mutable_node());
    refused(server_.coordinator(), &v1::CoordinatorService::Stub::RegisterNode, request, field);
  }
  void beat_refused(const std::function<void(v1::HeartbeatRequest&)>& spoil,
                    const std::string& field) {
    v1::HeartbeatRequest request;
    request.set_node_id("n1");
    request.set_generation_id(uuid(1));
    spoil(request);
    refused(server_.coordinator(), &v1::CoordinatorService::Stub::Heartbeat, request, field);
  }
  void put_refused(const std::function<void(v1::StorePutRequest&)>& spoil,
                   const std::string& field) {
    v1::StorePutRequest request;
    request.set_key("k");
    spoil(request);
    refused(server_.store(), &v1::StoreService::Stub::Put, request, field);
  }
  void list_refused(const std::function<void(v1::StoreListRequest&)>& spoil,
                    const std::string& field) {
    v1::StoreListRequest request;
    spoil(request);
    refused(server_.store(), &v1::StoreService::Stub::List, request, field);
  }

  TempDir dir_;
  Musterd server_{"s1", "file://" + (dir_.path() / "e").string(), dir_.path(), {"--limits", "off"}};
};

TEST_F(BadInputTest, EveryInvalidFieldOfANodeIsNamedWithItsRule) {
  for (const char* id : {"", "-n", "n-", "a b", "ü", "a/b"}) {
    node_refused([&](auto& n) { n.set_id(id); }, "id");
    beat_refused([&](auto& b) { b.set_node_id(id); }, "id");
    v1::DeregisterNodeRequest gone;
    gone.set_node_id(id);
    refused(server_.coordinator(), &v1::CoordinatorService::Stub::DeregisterNode, gone, "id");
    v1::DrainNodeRequest drain;
    drain.set_node_id(id);
    refused(server_.admin(), &v1::AdminService::Stub::DrainNode, drain, "id");
  }
  node_refused([](auto& n) { n.set_id(std::string(64, 'a')); }, "id");
  for (const char* address : {"", "a b", "1.2.3", "1.2.3.256", "[::1]", "http://h", "h:1"}) {
    node_refused([&](auto& n) { n.set_address(address); }, "address");
  }
  node_refused([](auto& n) { n.set_address(std::string(254, 'a')); }, "address");
  for (const unsigned port : {0U, 65536U, 4294967295U}) {
    node_refused([&](auto& n) { n.set_port(port); }, "port");
  }
  for (const char* generation : {"", "x", "00000000-0000-4000-8000-00000000000g"}) {
    node_refused([&](auto& n) { n.set_generation_id(generation); }, "generation_id");
    beat_refused([&](auto& b) { b.set_generation_id(generation); }, "generation_id");
  }
  v1::DeregisterNodeRequest wrong;
  wrong.set_node_id("n1");
  wrong.set_generation_id("x");
  refused(server_.coordinator(), &v1::CoordinatorService::Stub::DeregisterNode, wrong,
          "generation_id");
  node_refused([](auto& n) { n.set_weight(1001); }, "weight");
}

TEST_F(BadInputTest, UnknownEnumValuesAreRefused) {
  for (const int value : {-1, 4, 17, 2147483647}) {
    node_refused([&](auto& n) { n.set_type(static_cast<v1::NodeType>(value)); }, "type");
  }
  node_refused([](auto& n) { n.clear_type(); }, "type");
  for (const int value : {-1, 4, 5, 6, 2147483647}) {
    beat_refused([&](auto& b) { b.set_reported_state(static_cast<v1::NodeState>(value)); },
                 "reported_state");
  }
}

TEST_F(BadInputTest, EveryInvalidFieldOfTheStoreIsNamedWithItsRule) {
  for (const std::string& key :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string(1025, 'a'), std::string("a\0b", 3)}) {
    put_refused([&](auto& p) { p.set_key(key); }, "key");
    put_refused([&](auto& p) { p.mutable_guard()->set_key(key); }, "guard");
    v1::StoreGetRequest get;
    get.set_key(key);
    refused(server_.store(), &v1::StoreService::Stub::Get, get, "key");
    v1::StoreRemoveRequest remove;
    remove.set_key(key);
    refused(server_.store(), &v1::StoreService::Stub::Remove, remove, "key");
  }
  put_refused([](auto& p) { p.set_value(std::string(300 << 10, 'x')); }, "value");
  // What may be a mistake must not become a write without a condition.
  put_refused([](auto& p) { p.mutable_when()->set_absent(false); }, "when.absent");
  put_refused([](auto& p) { p.mutable_when()->set_at_revision(0); }, "when.at_revision");
  put_refused(
      [](auto& p) {
        p.mutable_guard()->set_key("g");
        p.mutable_guard()->mutable_when()->set_at_revision(0);
      },
      "guard.when.at_revision");
  list_refused([](auto& l) { l.set_limit(1001); }, "limit");
  list_refused([](auto& l) { l.set_prefix(std::string(1025, 'a')); }, "prefix");
  list_refused([](auto& l) { l.set_after(std::string(1025, 'a')); }, "after");
  EXPECT_TRUE(keys_of(server_).empty()) << "what was refused has changed nothing";
}

TEST_F(BadInputTest, EveryInvalidFieldOfAnOperatorIsNamedWithItsRule) {
  for (const auto& [nodes, factor, field] : {std::tuple{0U, 3U, "virtual_nodes_per_physical"},
                                             {4097U, 3U, "virtual_nodes_per_physical"},
                                             {16U, 0U, "replication_factor"},
                                             {16U, 65U, "replication_factor"}}) {
    v1::SetHashRingRequest ring;
    ring.mutable_config()->set_virtual_nodes_per_physical(nodes);
    ring.mutable_config()->set_replication_factor(factor);
    refused(server_.admin(), &v1::AdminService::Stub::SetHashRing, ring, field);
  }
  for (const std::string& id : {std::string(), std::string(254, 'a')}) {
    v1::RemoveServerRequest remove;
    remove.set_id(id);
    refused(server_.admin(), &v1::AdminService::Stub::RemoveServer, remove, "id");
  }
}

TEST_F(BadInputTest, OversizedAndForeignMessagesAreRefused) {
  EXPECT_EQ(put(server_, "big", std::string(8 << 20, 'x')).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  Context context(20s);
  auto stream = server_.coordinator().HeartbeatStream(&context);
  v1::HeartbeatBatch batch;
  for (int i = 0; i < 10'001; ++i) batch.add_heartbeats()->set_node_id("n1");
  stream->Write(batch);
  v1::HeartbeatBatchResponse response;
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_NE(status.error_message().find("heartbeats"), std::string::npos) << status.error_message();

  // Bytes that are no message, to every method there is; then a method that there is not.
  grpc::GenericStub generic(server_.channel());
  const auto call = [&](const std::string& method, const std::string& bytes) {
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer answer;
    Context asked;
    grpc::CompletionQueue queue;
    auto reader = generic.PrepareUnaryCall(&asked, method, request, &queue);
    reader->StartCall();
    grpc::Status got;
    reader->Finish(&answer, &got, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return got.error_code();
  };
  for (const char* method : {"CoordinatorService/GetTopology",
                             "CoordinatorService/RegisterNode",
                             "CoordinatorService/DeregisterNode",
                             "CoordinatorService/Heartbeat",
                             "CoordinatorService/HealthCheck",
                             "CoordinatorService/WatchTopology",
                             "CoordinatorService/HeartbeatStream",
                             "StoreService/Get",
                             "StoreService/Put",
                             "StoreService/Remove",
                             "StoreService/List",
                             "StoreService/Watch",
                             "ElectionService/Campaign",
                             "ElectionService/Leader",
                             "ElectionService/Observe",
                             "LockService/Acquire",
                             "LockService/Renew",
                             "LockService/Release",
                             "LockService/GetLock",
                             "AdminService/DrainNode",
                             "AdminService/SetHashRing",
                             "AdminService/ListServers",
                             "AdminService/RemoveServer",
                             "AdminService/TransferLeadership",
                             "AdminService/Move",
                             "AdminService/Backup",
                             "PeerService/Announce"}) {
    EXPECT_EQ(call(std::string("/muster.v1.") + method, "\xff\xff\xff"),
              StatusCode::INVALID_ARGUMENT)
        << method;
  }
  EXPECT_EQ(call("/muster.v1.StoreService/None", ""), StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(put(server_, "k", "v").ok());
}

/// A raw connection to a port of this machine.
int port_of(const Musterd& server) {
  const std::string address = server.address();
  return std::stoi(address.substr(address.rfind(':') + 1));
}

/// So many connections, left open: silent ones, beginnings of a greeting, greetings and then
/// garbage, garbage at once.
std::vector<UniqueFd> pester(int port, int count) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  Random random(7);
  std::vector<UniqueFd> open;
  for (int i = 0; i < count; ++i) {
    open.push_back(dial_loopback(port));
    std::string bytes;
    if (i % 4 == 1) bytes = preface.substr(0, static_cast<std::size_t>(i) % preface.size());
    if (i % 4 == 2) bytes = preface;
    if (i % 4 >= 2) {
      for (int n = 0; n < 1024; ++n) bytes += static_cast<char>(random.next());
    }
    // The server may have hung up already, which is an answer, too.
    [[maybe_unused]] const auto sent =
        ::send(open.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  return open;
}

TEST_F(BadInputTest, AThousandHalfOpenConnectionsAndGarbageHurtNobody) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  std::vector<UniqueFd> open = pester(port_of(server_), 1000);
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_TRUE(put(server_, key, "v").ok());
    ASSERT_EQ(get(server_, key), "v");
  }
  open.clear();
  EXPECT_TRUE(put(server_, "last", "v").ok());
  EXPECT_EQ(server_.terminate(), 0);
}

// gRPC's own listener never listens again after it has expired of descriptors once, and a leader
// that cannot open its files loses its lease.
TEST(ConnectionLimitTest, WhoeverConnectsTooOftenIsHungUpOnAndTheServerLeadsOn) {
  const TempDir dir;
  MusterdPlace few;
  few.before = {"prlimit", "--nofile=256:256"};
  Musterd server("s1", "file://" + (dir.path() / "e").string(), dir.path(), {}, true, few);
  ASSERT_TRUE(eventually([&] { return put(server, "before", "v").ok(); }));
  const auto term = health(server).raft_term();
  std::vector<UniqueFd> open = pester(port_of(server), 400);
  ASSERT_TRUE(eventually(
      [&] { return server.log().find("a connection was closed") != std::string::npos; }));
  // The connection that stands is served as before, from files that can still be opened.
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_TRUE(put(server, key, "v").ok());
    ASSERT_EQ(get(server, key), "v");
  }
  EXPECT_EQ(health(server).raft_term(), term);
  open.clear();
  const auto again = open_channel(server.address(), {});
  EXPECT_TRUE(again->WaitForConnected(std::chrono::system_clock::now() + 20s));
  EXPECT_EQ(server.terminate(), 0);
}

class EnginePortTest : public ManagedScene {};

TEST_F(EnginePortTest, GarbageOnTheEnginesPortHurtsNobody) {
  Musterd& only = add(0, {"--peers", peers(1)});
  ASSERT_TRUE(writes(only, "before"));
  std::vector<UniqueFd> open = pester(ports_[0], 200);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(put(only, "k" + std::to_string(i), "v").ok());
  open.clear();
  EXPECT_TRUE(put(only, "last", "v").ok());
  EXPECT_EQ(only.terminate(), 0);
}

TEST(HttpPortTest, GarbageAndSilenceOnThePagesPortHurtNobody) {
  const TempDir dir;
  const int port = free_port();
  const std::string http = "127.0.0.1:" + std::to_string(port);
  Musterd server("s1", "file://" + (dir.path() / "e").string(), dir.path(),
                 {"--http-listen", http});
  const auto answers = [&] {
    return run_program(
               {"curl", "-sf", "-m", "2", "-o", "/dev/null", "http://" + http + "/healthz"}) == 0;
  };
  ASSERT_TRUE(eventually(answers));
  std::vector<UniqueFd> open = pester(port, 200);
  ASSERT_TRUE(eventually([&] { return put(server, "k", "v").ok(); }));
  EXPECT_TRUE(eventually(answers, 60s)) << "those who say nothing are hung up on";
  open.clear();
  EXPECT_EQ(server.terminate(), 0);
}

}  // namespace bad_input_test
}  // namespace muster::testing
