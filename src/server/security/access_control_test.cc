#include "server/security/access_control.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "server/api/screened_beats.h"
#include "server/security/access_test_scene.h"

namespace muster::server {
namespace access_control_test {

using rpc::Code;
using rpc::TestingCall;
using ::testing::HasSubstr;

constexpr const char* kRegister = "/muster.v1.CoordinatorService/RegisterNode";
constexpr const char* kGet = "/muster.v1.CoordinatorService/GetTopology";
constexpr const char* kWatch = "/muster.v1.CoordinatorService/WatchTopology";
constexpr const char* kStream = "/muster.v1.CoordinatorService/HeartbeatStream";
constexpr const char* kPut = "/muster.v1.StoreService/Put";

using AccessControlTest = AccessScene;

TEST_F(AccessControlTest, ACallWithoutACertificateIsRefusedWhereTheyAreUsed) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}});
  const auto bare = call(kGet);
  EXPECT_FALSE(access.admit(bare));
  EXPECT_EQ(bare->finished->code, Code::kPermissionDenied);
  EXPECT_EQ(access.counts().denied, 1U);
}

// T21: identity, role and standing are asked for each call.
TEST_F(AccessControlTest, TheRoleDecidesWhatMayBeCalled) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}});
  const TestPair reader = client("reader", "r1");
  EXPECT_TRUE(access.admit(call(kGet, reader.certificate)));
  const auto put = call(kPut, reader.certificate);
  EXPECT_FALSE(access.admit(put));
  EXPECT_EQ(put->finished->code, Code::kPermissionDenied);
  EXPECT_THAT(put->finished->message, HasSubstr("reader r1 does not allow"));
  const auto other = call("/any.Service/Method", reader.certificate);
  EXPECT_FALSE(access.admit(other));
  EXPECT_EQ(other->finished->code, Code::kUnimplemented);
}

TEST_F(AccessControlTest, ANodeSpeaksOnlyForItself) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}});
  const TestPair node = client("node", "n1");
  const auto own = call(kRegister, node.certificate);
  ASSERT_TRUE(access.admit(own));
  EXPECT_TRUE(access.registers(own, "n1", "10.0.0.1"));
  EXPECT_FALSE(access.registers(own, "n1", "10.0.0.2"));
  EXPECT_THAT(own->finished->message, HasSubstr("does not hold the address 10.0.0.2"));
  const auto others = call(kRegister, node.certificate);
  ASSERT_TRUE(access.admit(others));
  EXPECT_FALSE(access.speaks_for(others, "n2"));
  EXPECT_THAT(others->finished->message, HasSubstr("cannot speak for node n2"));
}

TEST_F(AccessControlTest, ACallThatNobodyHasLookedAtSpeaksForNobody) {
  AccessControl access(loop_, {.tls = nullptr, .limits = {}});
  const auto unseen = call(kRegister);
  EXPECT_FALSE(access.speaks_for(unseen, "n1"));
  EXPECT_EQ(unseen->finished->code, Code::kPermissionDenied);
}

// P11, T22: an open call ends when its certificate is revoked; others go on.
TEST_F(AccessControlTest, AnOpenCallEndsWhenItsCertificateIsRevoked) {
  TlsKeeper& tls = secure();
  AccessControl access(loop_, {.tls = &tls, .limits = {}});
  tls.on_change([&] { access.recheck(); });
  const TestPair first = client("node", "n1");
  const TestPair second = client("node", "n2");
  const auto ends = call(kWatch, first.certificate);
  const auto stays = call(kWatch, second.certificate);
  ASSERT_TRUE(access.admit(ends));
  ASSERT_TRUE(access.admit(stays));
  directory_.write("crl", ca_.list({first.serial}, 1s));
  tls.reload();
  ASSERT_TRUE(ends->finished.has_value());
  EXPECT_EQ(ends->finished->code, Code::kPermissionDenied);
  EXPECT_FALSE(stays->finished.has_value());
  EXPECT_FALSE(access.admit(call(kWatch, first.certificate)));
  EXPECT_TRUE(access.admit(call(kWatch, second.certificate)));
  EXPECT_EQ(access.counts().streams_ended, 1U);
}

/// Every method of our services one of whose sides is a stream, as their descriptions say, and
/// those of other services that are.
std::vector<std::string> streams() {
  std::vector<std::string> all{"/grpc.health.v1.Health/Watch",
                               "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  for (const char* name : {"coordinator", "store", "admin", "observe", "peer"}) {
    const auto* file = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
        "muster/v1/" + std::string(name) + ".proto");
    EXPECT_NE(file, nullptr) << name;
    for (int i = 0; file != nullptr && i < file->service_count(); ++i) {
      for (int k = 0; k < file->service(i)->method_count(); ++k) {
        const auto* method = file->service(i)->method(k);
        if (!method->client_streaming() && !method->server_streaming()) continue;
        all.push_back("/" + file->service(i)->full_name() + "/" + method->name());
      }
    }
  }
  return all;
}

TEST_F(AccessControlTest, EveryKindOfStreamEndsWhenItsCertificateIsRevoked) {
  TlsKeeper& tls = secure();
  AccessControl access(loop_, {.tls = &tls, .limits = {}});
  tls.on_change([&] { access.recheck(); });
  const TestPair server = client("server", "s2");
  std::vector<std::shared_ptr<TestingCall>> open;
  for (const std::string& method : streams()) {
    open.push_back(call(method.c_str(), server.certificate));
    ASSERT_TRUE(access.admit(open.back())) << method;
  }
  EXPECT_GE(open.size(), 7U);
  directory_.write("crl", ca_.list({server.serial}, 1s));
  tls.reload();
  for (const auto& each : open) {
    ASSERT_TRUE(each->finished.has_value()) << each->method();
    EXPECT_EQ(each->finished->code, Code::kPermissionDenied) << each->method();
  }
}

// No revocation list changes, and nothing reports it: access control looks by itself.
// Anyone who does not read is cut off soon after, and keeps nothing open.
TEST_F(AccessControlTest, AnOpenCallEndsWithinTwoSecondsOfItsCertificatesOwnEnd) {
  AccessControl access(loop_, {.tls = &secure(), .limits = {}});
  const auto ends = std::chrono::floor<std::chrono::seconds>(loop_.wall_now()) + 2s;
  const TestPair brief = client("node", "n1", {}, ends);
  const TestPair lasting = client("node", "n2");
  const auto reads = call(kWatch, brief.certificate);
  const auto reads_not = call(kWatch, brief.certificate);
  const auto stays = call(kWatch, lasting.certificate);
  reads_not->takes_answer = false;
  for (const auto& each : {reads, reads_not, stays}) ASSERT_TRUE(access.admit(each));
  const auto passes = [this](const auto& call, auto holds, Duration most) {
    const MonoTime limit = loop_.now() + most;
    while (!holds(*call) && loop_.now() < limit) loop_.run_until(loop_.now() + 10ms);
    return holds(*call);
  };
  const auto finished = [](const TestingCall& each) { return each.finished.has_value(); };
  // Up to 2 s until it ends, and 2 s more.
  ASSERT_TRUE(passes(reads, finished, 4500ms));
  EXPECT_GE(loop_.wall_now(), ends);
  EXPECT_EQ(reads->finished->code, Code::kPermissionDenied);
  ASSERT_TRUE(finished(*reads_not));
  EXPECT_TRUE(passes(
      reads_not, [](const TestingCall& each) { return each.was_cut; }, 1s));
  EXPECT_FALSE(finished(*stays));
  EXPECT_FALSE(stays->was_cut);
}

TEST_F(AccessControlTest, TooManyRequestsAreToldWhenToComeAgain) {
  AccessControl access(loop_, {.tls = nullptr, .limits = RequestLimitOptions{}});
  for (int i = 0; i < 2; ++i) {
    const auto each = call(kRegister);
    ASSERT_TRUE(access.admit(each));
    EXPECT_TRUE(access.charge(each, LimitedCall::kRegister, "n1"));
    each->finish({});
  }
  const auto third = call(kRegister);
  ASSERT_TRUE(access.admit(third));
  EXPECT_FALSE(access.charge(third, LimitedCall::kRegister, "n1"));
  EXPECT_EQ(third->finished->code, Code::kResourceExhausted);
  EXPECT_GT(third->finished->retry_after, 0s);
  const auto another = call(kRegister);
  ASSERT_TRUE(access.admit(another));
  EXPECT_TRUE(access.charge(another, LimitedCall::kRegister, "n2"));
  EXPECT_EQ(access.counts().limited, 1U);
}

TEST_F(AccessControlTest, ARequestRefusedForWantOfALeaderCostsNothing) {
  AccessControl access(loop_, {.tls = nullptr, .limits = RequestLimitOptions{}});
  for (int i = 0; i < 20; ++i) {
    const auto each = call(kRegister);
    ASSERT_TRUE(access.admit(each));
    ASSERT_TRUE(access.charge(each, LimitedCall::kRegister, "n1"));
    each->finish({Code::kUnavailable, "no server leads at this moment; try again", {}});
  }
}

// T17: a watch's place comes back on every path.
TEST_F(AccessControlTest, WatchesAreCountedAndGivenBackHoweverTheyEnd) {
  AccessControl access(loop_, {.tls = nullptr, .limits = RequestLimitOptions{}});
  for (int round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<TestingCall>> open;
    for (int i = 0; i < 10; ++i) {
      open.push_back(call(kWatch));
      ASSERT_TRUE(access.admit(open.back()));
      ASSERT_TRUE(access.open_watch(open.back()));
    }
    const auto further = call(kWatch);
    ASSERT_TRUE(access.admit(further));
    EXPECT_FALSE(access.open_watch(further));
    EXPECT_EQ(further->finished->code, Code::kResourceExhausted);
    for (const auto& each : open) {
      if (round == 0) each->finish({});
      if (round == 1) each->end();
      if (round == 2) each->cut();
    }
  }
}

TEST_F(AccessControlTest, NobodyTakesAllTheCallsThatAServerHas) {
  RequestLimitOptions few;
  few.calls = 3;
  AccessControl access(loop_, {.tls = &secure(), .limits = few});
  const TestPair node = client("node", "n1");
  const TestPair other = client("node", "n2");
  const TestPair server = client("server", "s2");
  std::vector<std::shared_ptr<TestingCall>> open;
  for (int i = 0; i < 3; ++i) {
    open.push_back(call(kStream, node.certificate));
    ASSERT_TRUE(access.admit(open.back()));
  }
  const auto further = call(kGet, node.certificate);
  EXPECT_FALSE(access.admit(further));
  EXPECT_EQ(further->finished->code, Code::kResourceExhausted);
  EXPECT_GT(further->finished->retry_after, 0s);
  EXPECT_TRUE(access.admit(call(kGet, other.certificate)));
  std::vector<std::shared_ptr<TestingCall>> passed_on;
  for (int i = 0; i < 10; ++i) {
    passed_on.push_back(call(kGet, server.certificate));
    EXPECT_TRUE(access.admit(passed_on.back())) << "servers pass on what others ask";
  }
  open[0]->finish({});
  open[1]->end();
  EXPECT_TRUE(access.admit(call(kGet, node.certificate)));
  EXPECT_TRUE(access.admit(call(kGet, node.certificate)));
}

// R36: a refusal waits for its client as any other answer does.
TEST_F(AccessControlTest, WhateverIsRefusedHasTakenAPlaceBefore) {
  RequestLimitOptions few;
  few.calls = 1;
  AccessControl access(loop_, {.tls = &secure(), .limits = few});
  const std::string reader = client("reader", "r1").certificate;
  for (const auto& [method, certificate, code] :
       {std::tuple{"/%%%/%%%", reader, Code::kUnimplemented},
        std::tuple{kPut, reader, Code::kPermissionDenied},
        std::tuple{kGet, std::string(), Code::kPermissionDenied}}) {
    const auto refused = call(method, certificate);
    refused->takes_answer = false;
    EXPECT_FALSE(access.admit(refused));
    EXPECT_EQ(refused->finished->code, code);
    EXPECT_EQ(refused->finished->message.find('%'), std::string::npos);
    const auto further = call(method, certificate);
    EXPECT_FALSE(access.admit(further));
    EXPECT_EQ(further->finished->code, Code::kResourceExhausted) << method;
    EXPECT_TRUE(further->turned_away);
    refused->end();
  }
}

// A client that takes none of its answers would have any number of calls otherwise.
TEST_F(AccessControlTest, APlaceIsGivenBackWhenTheAnswerWasTaken) {
  RequestLimitOptions few;
  few.calls = 2;
  few.watches = 1;
  AccessControl access(loop_, {.tls = nullptr, .limits = few});
  const auto get = call(kGet);
  get->takes_answer = false;
  ASSERT_TRUE(access.admit(get));
  const auto watch = call(kWatch);
  watch->takes_answer = false;
  ASSERT_TRUE(access.admit(watch));
  ASSERT_TRUE(access.open_watch(watch));
  get->reply(rpc::payload("answer"));
  watch->finish({Code::kUnavailable, "this server is stopping", {}});
  EXPECT_FALSE(access.admit(call(kGet))) << "both answers are on their way";
  get->end();
  const auto second = call(kWatch);
  ASSERT_TRUE(access.admit(second));
  EXPECT_FALSE(access.open_watch(second)) << "so is the end of the watch";
  watch->end();
  const auto third = call(kWatch);
  ASSERT_TRUE(access.admit(third));
  EXPECT_TRUE(access.open_watch(third));
}

TEST_F(AccessControlTest, AnAgentLosesOnlyTheHeartbeatsItMayNotSend) {
  AccessControl access(loop_, {.tls = &secure(), .limits = RequestLimitOptions{}});
  const TestPair agent = client("agent", "a1", {"muster:carries:n1", "muster:carries:rack7-*"});
  const auto stream = call(kStream, agent.certificate);
  ASSERT_TRUE(access.admit(stream));
  v1::HeartbeatBatch batch;
  for (const char* id : {"n2", "n1", "rack8-1", "rack7-1"}) {
    batch.add_heartbeats()->set_node_id(id);
  }
  const ScreenedBeats screened(access, stream, batch);
  ASSERT_EQ(screened.batch().heartbeats_size(), 2);
  EXPECT_EQ(screened.batch().heartbeats(0).node_id(), "n1");
  EXPECT_EQ(screened.batch().heartbeats(1).node_id(), "rack7-1");
  v1::HeartbeatBatchResponse response;
  response.add_refused()->set_position(1);  // The leader knows no rack7-1.
  screened.complete(response);
  ASSERT_EQ(response.refused_size(), 3);
  EXPECT_EQ(response.refused(0).position(), 3U);
  EXPECT_EQ(response.refused(1).position(), 0U);
  EXPECT_EQ(response.refused(1).code(), static_cast<int>(Code::kPermissionDenied));
  EXPECT_EQ(response.refused(2).position(), 2U);
}

TEST_F(AccessControlTest, EachNodeThatAnAgentCarriesIsCountedForItself) {
  AccessControl access(loop_, {.tls = &secure(), .limits = RequestLimitOptions{}});
  const TestPair agent = client("agent", "a1", {"muster:carries:n*"});
  const auto stream = call(kStream, agent.certificate);
  ASSERT_TRUE(access.admit(stream));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(access.check_beat(stream, "n" + std::to_string(i)).ok());
  }
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(access.check_beat(stream, "n1").ok());
  EXPECT_TRUE(access.check_beat(stream, "n1").is(Errc::kThrottled));
  access.give_back_beat(stream, "n1");
  EXPECT_TRUE(access.check_beat(stream, "n1").ok());
}

TEST_F(AccessControlTest, AServerShowsAServersCertificateOfItsOwnName) {
  const auto start = [this](const std::string& id, const TestPair& pair) {
    directory_.write("s1.crt", pair.certificate);
    directory_.write("s1.key", pair.key);
    TlsKeeper::Options options;
    options.files = {
        directory_.file("s1.crt"), directory_.file("s1.key"), directory_.file("ca.crt"), {}};
    options.server_id = id;
    const Status started = TlsKeeper(loop_, options).start();
    return started ? std::string() : started.error().message;
  };
  EXPECT_THAT(start("n1", client("node", "n1")), HasSubstr("one with the role server"));
  EXPECT_THAT(start("s2", client("server", "s2")), HasSubstr("serverAuth"));
  EXPECT_THAT(start("s2", ca_.issue("s2", {"muster:role:server"})),
              HasSubstr(security::kServerName));
}

}  // namespace access_control_test
}  // namespace muster::server
