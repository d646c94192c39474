// Clients of release 0.1 and today's servers: what they send is understood as ever, and what they
// get has the bytes that it had, whatever else is in the cluster.

#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/membership/testing.h"
#include "release_0_1.pb.h"
#include "server/api/convert.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {
namespace contract_test {

namespace old = muster::release_0_1;
using membership::testing::at;
using membership::testing::service_spec;

/// The node as a server of 0.1 answers it.
old::NodeInfo as_in_0_1(const membership::NodeEntry& node, const membership::Topology& topology) {
  old::NodeInfo info;
  info.set_id(node.id.value());
  info.set_address(node.address);
  info.set_port(node.port);
  info.set_state(static_cast<old::NodeState>(node.state));
  info.set_type(static_cast<old::NodeType>(node.type));
  info.set_last_heartbeat_at(to_ms(topology.label(node.last_heartbeat_at)));
  info.set_suspect_count(node.suspect_count);
  info.set_generation_id(node.generation.value());
  info.set_registered_at(to_ms(topology.label(node.registered_at)));
  info.set_weight(node.weight);
  info.set_state_since(to_ms(topology.label(node.state_since)));
  info.set_drain_requested(node.drain_requested);
  return info;
}

/// The numbers of the fields that 0.1 does not have.
template <typename Old>
void note_new_fields(const Old& message, std::set<int>& numbers) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) numbers.insert(unknown.field(i).number());
}

class ContractTest : public ::testing::Test {
 protected:
  void enter(const membership::NodeSpec& node) {
    ASSERT_TRUE(topology_.apply(membership::registration_of(node), at(++seconds_)).outcome);
    ASSERT_TRUE(topology_.apply(membership::testing::beat(topology_, node.id.value()), at(seconds_))
                    .outcome);
  }
  /// What any request of 0.1 gets, read by 0.1.
  old::GetTopologyResponse answer(const membership::ServiceFilter& services = {}) {
    v1::GetTopologyResponse now;
    server::to_proto(topology_, services, now);
    old::GetTopologyResponse read;
    EXPECT_TRUE(read.ParseFromString(now.SerializeAsString()));
    return read;
  }
  old::GetTopologyResponse expected() {
    old::GetTopologyResponse message;
    message.set_version(topology_.version().value());
    message.mutable_hash_ring_config()->set_virtual_nodes_per_physical(16);
    message.mutable_hash_ring_config()->set_replication_factor(3);
    topology_.for_each([&](const membership::NodeEntry& node) {
      if (!node.service.empty()) return;
      if (node.type == membership::NodeType::kFrontend) {
        *message.add_frontend_nodes() = as_in_0_1(node, topology_);
      } else if (node.type == membership::NodeType::kMetadata) {
        *message.add_metadata_nodes() = as_in_0_1(node, topology_);
      } else {
        *message.add_object_nodes() = as_in_0_1(node, topology_);
      }
    });
    return message;
  }

  membership::Topology topology_;
  std::int64_t seconds_ = 0;
};

TEST_F(ContractTest, AnswersAboutTheThreeServicesHaveTheBytesOfRelease01) {
  for (const char* service : {"frontend", "metadata", "object", "object"}) {
    enter(service_spec("n" + std::to_string(seconds_), service));
    enter(service_spec("s" + std::to_string(seconds_), "search", {{"zone", "b"}}));
  }
  old::GetTopologyResponse read = answer();
  std::set<int> more;
  note_new_fields(read, more);
  EXPECT_EQ(more, std::set<int>{}) << "no node of another service, in whatever field";
  for (const auto* nodes : {&read.frontend_nodes(), &read.metadata_nodes(), &read.object_nodes()}) {
    for (const old::NodeInfo& node : *nodes) note_new_fields(node, more);
  }
  EXPECT_EQ(more, (std::set<int>{13, 14})) << "the ages by log time, and neither service nor tags";
  read.DiscardUnknownFields();
  EXPECT_EQ(read.SerializeAsString(), expected().SerializeAsString());
  EXPECT_EQ(read.object_nodes_size(), 2);
}

TEST_F(ContractTest, TagsAreTheOnlyDifferenceOfANodeThatHasThem) {
  enter(service_spec("n1", "object"));
  v1::NodeInfo plain;
  server::to_proto(*topology_.find(NodeId("n1")), topology_, plain);
  enter(service_spec("n2", "object", {{"zone", "b"}}));
  v1::NodeInfo tagged;
  server::to_proto(*topology_.find(NodeId("n2")), topology_, tagged);
  EXPECT_EQ(tagged.tags().at("zone"), "b");
  tagged.clear_tags();
  old::NodeInfo read;
  ASSERT_TRUE(read.ParseFromString(tagged.SerializeAsString()));
  read.DiscardUnknownFields();
  EXPECT_EQ(read.SerializeAsString(),
            as_in_0_1(*topology_.find(NodeId("n2")), topology_).SerializeAsString());
  EXPECT_TRUE(plain.service().empty());
}

TEST_F(ContractTest, RegistrationsOf01BecomeTheCommandsThatTheyBecameThen) {
  for (const auto type :
       {old::NODE_TYPE_FRONTEND, old::NODE_TYPE_METADATA, old::NODE_TYPE_OBJECT}) {
    old::NodeInfo sent;
    sent.set_id("n1");
    sent.set_address("10.0.0.1");
    sent.set_port(7000);
    sent.set_type(type);
    sent.set_generation_id(uuid(1));
    v1::NodeInfo read;
    ASSERT_TRUE(read.ParseFromString(sent.SerializeAsString()));
    const auto spec = server::to_spec(read);
    ASSERT_TRUE(spec);
    const membership::Command command = membership::registration_of(*spec);
    EXPECT_TRUE(std::holds_alternative<membership::RegisterNode>(command));
    EXPECT_EQ(cluster::level(cluster::ChangeTopology{command}), 1U);
    EXPECT_EQ(static_cast<int>(spec->type), static_cast<int>(type));
    // A new client that names the service instead says the same.
    v1::NodeInfo named = read;
    named.clear_type();
    named.set_service(std::string(membership::service_of(*spec)));
    EXPECT_EQ(*server::to_spec(named), *spec);
    named.set_type(read.type());
    EXPECT_EQ(*server::to_spec(named), *spec);
    named.set_service("search");
    EXPECT_TRUE(server::to_spec(named).is(Errc::kInvalid));
  }
}

/// A client of release 0.1 at a real server.
template <typename Request, typename Response>
grpc::Status call(Musterd& server, const char* method, const Request& request, Response& response) {
  grpc::TemplatedGenericStub<Request, Response> stub(server.channel());
  grpc::CompletionQueue queue;
  Context context;
  auto call = stub.PrepareUnaryCall(
      &context, std::string("/muster.v1.CoordinatorService/") + method, request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

/// Follows as a client of 0.1 does: it keeps what is added and updated, and goes by the versions.
class OldWatch {
 public:
  explicit OldWatch(Musterd& server) : stub_(server.channel()) {
    old::WatchTopologyRequest request;
    call_ = stub_.PrepareCall(&context_, "/muster.v1.CoordinatorService/WatchTopology", &queue_);
    call_->StartCall(nullptr);
    step();
    call_->Write(request, nullptr);
    step();
    call_->WritesDone(nullptr);
    step();
  }
  ~OldWatch() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  OldWatch(const OldWatch&) = delete;
  OldWatch& operator=(const OldWatch&) = delete;

  /// Reads until the node has that state, or the stream is broken for a client of 0.1.
  void until(const std::string& id, old::NodeState state) {
    while (nodes.count(id) == 0 || nodes.at(id).state() != state) {
      old::TopologyUpdate update;
      call_->Read(&update, nullptr);
      ASSERT_TRUE(step());
      apply(update);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  std::map<std::string, old::NodeInfo> nodes;

 private:
  void apply(const old::TopologyUpdate& update) {
    if (update.has_full_sync()) {
      for (const auto* some :
           {&update.full_sync().frontend_nodes(), &update.full_sync().metadata_nodes(),
            &update.full_sync().object_nodes()}) {
        for (const old::NodeInfo& node : *some) nodes[node.id()] = node;
      }
      version_ = update.version();
      return;
    }
    if (update.has_keepalive()) return;
    ASSERT_EQ(update.previous_version(), version_) << "it would believe that it missed something";
    ASSERT_NE(update.update_case(), old::TopologyUpdate::UPDATE_NOT_SET);
    version_ = update.version();
    if (update.has_node_added()) nodes[update.node_added().id()] = update.node_added();
    if (update.has_node_updated()) nodes[update.node_updated().id()] = update.node_updated();
    if (update.has_node_removed()) nodes.erase(update.node_removed().id());
  }
  bool step() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.AsyncNext(&tag, &ok, grpc_deadline()) == grpc::CompletionQueue::GOT_EVENT && ok;
  }
  static std::chrono::system_clock::time_point grpc_deadline() {
    return std::chrono::system_clock::now() + std::chrono::seconds(20);
  }

  grpc::TemplatedGenericStub<old::WatchTopologyRequest, old::TopologyUpdate> stub_;
  grpc::CompletionQueue queue_;
  Context context_{60s};
  std::unique_ptr<grpc::ClientAsyncReaderWriter<old::WatchTopologyRequest, old::TopologyUpdate>>
      call_;
  std::uint64_t version_ = 0;
};

TEST(OldClientTest, ItRegistersFollowsAndReadsBesideServicesThatItDoesNotKnow) {
  TempDir dir;
  Musterd server("s1", "file://" + (dir.path() / "engine").string(), dir.path());
  ASSERT_TRUE(eventually([&] { return health(server).raft_state() == v1::RAFT_STATE_LEADER; }));
  OldWatch watch(server);
  int registered = 0;
  for (const auto type :
       {old::NODE_TYPE_FRONTEND, old::NODE_TYPE_METADATA, old::NODE_TYPE_OBJECT}) {
    ++registered;
    v1::NodeInfo search = node("s" + std::to_string(registered));
    search.clear_type();
    search.set_service("search");
    (*search.mutable_tags())["zone"] = "b";
    ASSERT_TRUE(eventually([&] { return register_node(server, search).ok(); }));
    old::RegisterNodeRequest request;
    old::NodeInfo& mine = *request.mutable_node();
    mine.set_id("n" + std::to_string(registered));
    mine.set_address("10.0.0.1");
    mine.set_port(7000);
    mine.set_type(type);
    mine.set_generation_id(uuid(1));
    old::RegisterNodeResponse response;
    const grpc::Status status = call(server, "RegisterNode", request, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_TRUE(heartbeat(server, mine.id()).ok());
    ASSERT_NO_FATAL_FAILURE(watch.until(mine.id(), old::NODE_STATE_ACTIVE));
  }
  EXPECT_EQ(watch.nodes.size(), 3U) << "no node that it would place keys on";

  old::GetTopologyRequest request;
  request.set_linearizable(true);
  old::GetTopologyResponse response;
  ASSERT_TRUE(call(server, "GetTopology", request, response).ok());
  EXPECT_EQ(response.frontend_nodes_size(), 1);
  EXPECT_EQ(response.metadata_nodes_size(), 1);
  EXPECT_EQ(response.object_nodes_size(), 1);
  EXPECT_EQ(response.object_nodes(0).id(), "n3");
  for (const old::NodeInfo& each : response.object_nodes()) {
    EXPECT_EQ(each.SerializeAsString().find("search"), std::string::npos);
  }

  v1::GetTopologyRequest all;
  all.set_linearizable(true);
  all.set_service("*");
  v1::GetTopologyResponse everything;
  ASSERT_TRUE(call(server, "GetTopology", all, everything).ok());
  EXPECT_EQ(everything.nodes_size(), 3);
  EXPECT_EQ(everything.object_nodes_size(), 1);
  all.set_service("Search");
  EXPECT_EQ(call(server, "GetTopology", all, everything).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace contract_test
}  // namespace muster::testing
