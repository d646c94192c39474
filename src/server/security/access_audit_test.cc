#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "muster/v1/admin.pb.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/store.pb.h"
#include "server/security/access_control.h"
#include "server/security/access_test_scene.h"
#include "server/security/subject.h"

namespace muster::server {
namespace access_audit_test {

using rpc::Code;
using ::testing::HasSubstr;

constexpr const char* kRegister = "/muster.v1.CoordinatorService/RegisterNode";
constexpr const char* kGet = "/muster.v1.CoordinatorService/GetTopology";
constexpr const char* kPut = "/muster.v1.StoreService/Put";
constexpr const char* kDrain = "/muster.v1.AdminService/DrainNode";

class AccessAuditTest : public AccessScene {
 protected:
  AccessAuditTest() { EXPECT_TRUE(audit_.open().ok()); }

  /// What the audit log holds, line by line.
  std::vector<nlohmann::json> recorded() const {
    std::ifstream file(directory_.file("audit"));
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(file, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  AuditLog audit_{{directory_.file("audit")}};
};

TEST_F(AccessAuditTest, ChangesAreRecordedWithWhoAndHowTheyEnded) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}, .audit = &audit_, .position = [] {
                                 return AuditLog::Position{3, 9};
                               }});
  const auto put = call(kPut, client("admin", "op").certificate);
  ASSERT_TRUE(access.admit(put));
  ASSERT_TRUE(access.charge(put, LimitedCall::kWrite, "some/key"));
  put->finish({});
  const auto get = call(kGet, client("admin", "op").certificate);
  ASSERT_TRUE(access.admit(get));
  get->finish({});
  std::ostringstream text;
  text << std::ifstream(directory_.file("audit")).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(R"("caller":"admin op")"));
  EXPECT_THAT(text.str(), HasSubstr(R"("subject":"some/key","epoch":3,"version":9,"code":0)"));
  EXPECT_EQ(text.str().find("GetTopology"), std::string::npos);
}

// A list of calls by their first and last one forgot those that came later.
TEST_F(AccessAuditTest, EveryChangeOfAnOperatorIsRecorded) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}, .audit = &audit_});
  const TestPair admin = client("admin", "op");
  std::vector<std::string> done;
  for (const security::Permission& row : security::permissions()) {
    const bool operators = row.name.starts_with("/muster.v1.") &&
                           security::allowed(security::Role::kAdmin, row.call) &&
                           !security::allowed(security::Role::kReader, row.call) &&
                           !row.name.ends_with("/Heartbeat") && !row.name.ends_with("Stream") &&
                           row.call != security::Call::kCampaign &&
                           row.call != security::Call::kLockRenew;
    if (!operators) continue;
    const auto made = call(std::string(row.name).c_str(), admin.certificate);
    ASSERT_TRUE(access.admit(made)) << row.name;
    made->finish({});
    done.emplace_back(row.name);
  }
  EXPECT_THAT(done, ::testing::Contains("/muster.v1.ObserveService/SetLogLevel"));
  std::vector<std::string> methods;
  for (const auto& line : recorded()) methods.push_back(line.at("method"));
  EXPECT_EQ(methods, done);
}

// Who floods a server must not wash away what it did before.
TEST_F(AccessAuditTest, WhatIsRefusedForBeingTooManyIsNotRecorded) {
  AccessControl access(loop_,
                       {.tls = &secure(), .limits = RequestLimitOptions{}, .audit = &audit_});
  const TestPair node = client("node", "n1");
  for (int i = 0; i < 100; ++i) {
    const auto each = call(kRegister, node.certificate);
    ASSERT_TRUE(access.admit(each));
    if (access.charge(each, LimitedCall::kRegister, "n1")) each->finish({});
  }
  std::ostringstream text;
  text << std::ifstream(directory_.file("audit")).rdbuf();
  const std::string lines = text.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_EQ(access.counts().limited, 98U);
}

/// A request of this method, made by who may not make it.
struct Attempt {
  const char* method;
  std::string request;
};

TEST_F(AccessAuditTest, AttemptsRefusedByRoleAreRecordedWithWhatTheyWereAbout) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}, .audit = &audit_});
  v1::DrainNodeRequest drain;
  drain.set_node_id("n7");
  v1::StorePutRequest put;
  put.set_key("secret/place");
  put.set_value("a value that nobody else may read");
  const TestPair reader = client("reader", "r1");
  for (const auto& [method, request] :
       {Attempt{kDrain, drain.SerializeAsString()}, Attempt{kPut, put.SerializeAsString()}}) {
    const auto tried = call(method, reader.certificate);
    tried->requests.push_back(request);
    EXPECT_FALSE(access.admit(tried));
    EXPECT_EQ(tried->finished->code, Code::kPermissionDenied);
  }
  const auto lines = recorded();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("caller"), "reader r1");
  EXPECT_EQ(lines[0].at("method"), kDrain);
  EXPECT_EQ(lines[0].at("subject"), "n7");
  EXPECT_EQ(lines[0].at("code"), 7);
  EXPECT_THAT(lines[0].at("message").get<std::string>(), HasSubstr("does not allow"));
  EXPECT_EQ(lines[1].at("subject"), "secret/place");
  EXPECT_EQ(lines[1].dump().find("a value"), std::string::npos);
  EXPECT_EQ(access.counts().denied, 2U);
}

TEST_F(AccessAuditTest, WhoSpeaksForAnotherIsRecordedWithThatOne) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}, .audit = &audit_});
  const auto other = call(kRegister, client("node", "n1").certificate);
  ASSERT_TRUE(access.admit(other));
  EXPECT_FALSE(access.registers(other, "n2", "10.0.0.1"));
  const auto lines = recorded();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("subject"), "n2");
  EXPECT_EQ(lines[0].at("code"), 7);
}

// A server that starts, stops or moves refuses a write before a service has read it.
TEST_F(AccessAuditTest, WhatIsDeclinedUnreadIsRecordedWithWhatItWasAbout) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}, .audit = &audit_});
  v1::StorePutRequest request;
  request.set_key("some/key");
  const auto put = call(kPut, client("admin", "op").certificate);
  put->requests.push_back(request.SerializeAsString());
  ASSERT_TRUE(access.admit(put));
  access.decline(put, {Code::kUnavailable, "the log is moving", {}});
  EXPECT_EQ(put->finished->code, Code::kUnavailable);
  const auto lines = recorded();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("subject"), "some/key");
  EXPECT_EQ(lines[0].at("code"), 14);
  EXPECT_EQ(lines[0].at("message"), "the log is moving");
}

TEST_F(AccessAuditTest, AFloodOfRefusalsDoesNotPushOutWhatHasBeenDone) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}, .audit = &audit_});
  const TestPair reader = client("reader", "r1");
  const TestPair other = client("reader", "r2");
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(access.admit(call(kDrain, reader.certificate)));
  EXPECT_EQ(recorded().size(), 20U);
  EXPECT_EQ(access.counts().denied, 1000U);
  EXPECT_FALSE(access.admit(call(kDrain, other.certificate)));
  EXPECT_EQ(recorded().back().at("caller"), "reader r2");
}

TEST(SubjectTest, IsWhatARequestNamesAndNeverAValue) {
  using enum security::Call;
  v1::MoveRequest move;
  move.set_engine("s3://key:password@bucket/prefix");
  EXPECT_EQ(subject_of(kMove, move.SerializeAsString()), "s3://bucket/prefix");
  move.set_engine("no address: password");
  EXPECT_EQ(subject_of(kMove, move.SerializeAsString()), "no address");
  v1::RegisterNodeRequest node;
  node.mutable_node()->set_id("n1");
  EXPECT_EQ(subject_of(kRegisterNode, node.SerializeAsString()), "n1");
  v1::StorePutBatch puts;
  EXPECT_EQ(subject_of(kStorePutStream, puts.SerializeAsString()), "");
  puts.add_puts()->set_key("k1");
  EXPECT_EQ(subject_of(kStorePutStream, puts.SerializeAsString()), "k1");
  EXPECT_EQ(subject_of(kDrainNode, "\xff\xff"), "");
  EXPECT_EQ(subject_of(kBackup, ""), "");
}

}  // namespace access_audit_test
}  // namespace muster::server
