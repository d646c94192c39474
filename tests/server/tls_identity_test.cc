#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/security/permissions.h"
#include "muster/v1/observe.grpc.pb.h"
#include "muster/v1/peer.grpc.pb.h"
#include "tests/server/tls_scene.h"

namespace muster::testing {
namespace tls_identity_test {

using grpc::StatusCode;
using ::testing::HasSubstr;

class TlsIdentityTest : public TlsScene {
 protected:
  using Stub = std::unique_ptr<v1::CoordinatorService::Stub>;

  [[nodiscard]] Stub as(const Musterd& server, const Pair& pair) const {
    return v1::CoordinatorService::NewStub(open_channel(server.address(), pem(pair)));
  }
  static grpc::Status registers(v1::CoordinatorService::Stub& stub, const std::string& id,
                                const std::string& address = "10.0.0.1") {
    v1::RegisterNodeRequest request;
    *request.mutable_node() = node(id);
    request.mutable_node()->set_address(address);
    v1::RegisterNodeResponse response;
    Context context;
    return stub.RegisterNode(&context, request, &response);
  }
  static grpc::Status beats(v1::CoordinatorService::Stub& stub, const std::string& id) {
    v1::HeartbeatRequest request;
    request.set_node_id(id);
    request.set_generation_id(uuid(1));
    request.set_reported_state(v1::NODE_STATE_ACTIVE);
    v1::HeartbeatResponse response;
    Context context;
    return stub.Heartbeat(&context, request, &response);
  }
};

// T21: the stolen certificate of one node speaks for no other.
TEST_F(TlsIdentityTest, ANodeActsOnlyForItselfAndTheRefusalNamesWhatDiffers) {
  const auto server = start("s1");
  const auto n1 = as(*server, client("node", "n1"));
  const auto n2 = as(*server, client("node", "n2"));
  ASSERT_TRUE(eventually([&] { return registers(*n1, "n1").ok(); }));
  ASSERT_TRUE(registers(*n2, "n2").ok());
  EXPECT_TRUE(beats(*n1, "n1").ok());

  const grpc::Status stolen = beats(*n1, "n2");
  EXPECT_EQ(stolen.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(stolen.error_message(),
              HasSubstr("the certificate is of node n1 and cannot speak for node n2"));
  EXPECT_EQ(registers(*n1, "n3").error_code(), StatusCode::PERMISSION_DENIED);
  const grpc::Status elsewhere = registers(*n1, "n1", "10.0.0.2");
  EXPECT_EQ(elsewhere.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(elsewhere.error_message(), HasSubstr("10.0.0.2; it holds 10.0.0.1"));

  v1::DeregisterNodeRequest gone;
  gone.set_node_id("n2");
  gone.set_generation_id(uuid(1));
  v1::DeregisterNodeResponse response;
  Context context;
  EXPECT_EQ(n1->DeregisterNode(&context, gone, &response).error_code(),
            StatusCode::PERMISSION_DENIED);
}

// T21: what was done is remembered under who did it, whatever that one says of itself.
TEST_F(TlsIdentityTest, NobodyWritesAnothersNameIntoTheHistory) {
  const auto server = start("s1");
  const Pair pair = client("node", "n1");
  const auto n1 = as(*server, pair);
  v1::RegisterNodeRequest request;
  *request.mutable_node() = node("n1");
  ASSERT_TRUE(eventually([&] {
    v1::RegisterNodeResponse response;
    Context context;
    context.AddMetadata("muster-forwarded", "s2");
    context.AddMetadata("muster-caller", "admin op");
    return n1->RegisterNode(&context, request, &response).ok();
  }));
  v1::ExplainRequest about;
  about.set_subject("n1");
  v1::ExplainResponse history;
  Context context;
  const auto observe = v1::ObserveService::NewStub(server->channel());
  ASSERT_TRUE(observe->Explain(&context, about, &history).ok());
  ASSERT_GT(history.decisions_size(), 0);
  EXPECT_EQ(history.decisions(0).asked_by(), "node n1") << history.ShortDebugString();
}

TEST_F(TlsIdentityTest, AnAgentSendsTheHeartbeatsOfThoseItCarriesThroughAnyServer) {
  const auto first = start("s1");
  const auto second = start("s2");
  pki::CertificateOrder wanted = order("agent", "a1");
  wanted.uris.insert(wanted.uris.end(), {"muster:carries:n1", "muster:carries:rack7-*"});
  const Pair agent = ca_.issue(wanted);
  // One of the two passes everything on to the other, with its own certificate.
  for (const Musterd* server : {first.get(), second.get()}) {
    const auto stub = as(*server, agent);
    ASSERT_TRUE(eventually([&] { return registers(*stub, "n1").ok(); }));
    ASSERT_TRUE(eventually([&] { return registers(*stub, "rack7-1").ok(); }));
    EXPECT_EQ(registers(*stub, "n2").error_code(), StatusCode::PERMISSION_DENIED);
    Context context(20s);
    const auto stream = stub->HeartbeatStream(&context);
    v1::HeartbeatBatch batch;
    for (const char* id : {"n2", "n1", "rack7-1"}) {
      v1::HeartbeatRequest& beat = *batch.add_heartbeats();
      beat.set_node_id(id);
      beat.set_generation_id(uuid(1));
      beat.set_reported_state(v1::NODE_STATE_ACTIVE);
    }
    ASSERT_TRUE(stream->Write(batch));
    v1::HeartbeatBatchResponse response;
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.refused_size(), 1) << response.ShortDebugString();
    EXPECT_EQ(response.refused(0).position(), 0U);
    EXPECT_EQ(response.refused(0).code(), StatusCode::PERMISSION_DENIED);
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
}

// T21: the whole table, over the wire. A call that is let in may fail in many ways, but not so.
TEST_F(TlsIdentityTest, EveryRoleMayCallWhatTheTableSays) {
  // Takes about 7 s: calls that never end are given 200 ms each, for every role that may make them.
  const auto server = start("s1");
  for (const security::Role role : security::kRoles) {
    pki::CertificateOrder wanted = order(to_string(role), "x1");
    if (role == security::Role::kAgent) wanted.uris.emplace_back("muster:carries:x1");
    const auto channel = open_channel(server->address(), pem(ca_.issue(wanted)));
    for (const security::Permission& row : security::permissions()) {
      using enum security::Call;
      // HTTP has a listener of its own.
      if (row.call >= kHttpPage) continue;
      // Who is let in goes on until the deadline.
      const bool endless = security::allowed(role, row.call) &&
                           (row.call == kWatchTopology || row.call == kStoreWatch ||
                            row.call == kGrpcHealthWatch || row.call == kBackup);
      const grpc::Status status =
          ask_empty(channel, std::string(row.name), endless ? Duration(200ms) : Duration(20s));
      const bool refused = status.error_code() == StatusCode::PERMISSION_DENIED &&
                           status.error_message().find("does not allow") != std::string::npos;
      EXPECT_EQ(!refused, security::allowed(role, row.call))
          << to_string(role) << " " << row.name << ": " << status.error_message();
    }
  }
  EXPECT_EQ(ask_empty(server->channel(), "/muster.v1.AdminService/Nothing").error_code(),
            StatusCode::UNIMPLEMENTED);
}

TEST_F(TlsIdentityTest, ChangesAreRecordedAndHoldNoValues) {
  const auto server = start("s1", {"--audit-log", file("audit")});
  ASSERT_TRUE(eventually([&] { return put(*server, "some/key", "the-secret-value").ok(); }));
  EXPECT_EQ(get(*server, "some/key"), "the-secret-value");
  std::ostringstream text;
  text << std::ifstream(file("audit")).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(R"("caller":"admin op")"));
  EXPECT_THAT(text.str(), HasSubstr(R"("subject":"some/key")"));
  EXPECT_EQ(text.str().find("the-secret-value"), std::string::npos);
  EXPECT_EQ(server->log().find("the-secret-value"), std::string::npos);
  EXPECT_EQ(server->log().find("PRIVATE KEY"), std::string::npos);
}

}  // namespace tls_identity_test
}  // namespace muster::testing
