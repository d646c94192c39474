#include "server/guard/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "server/rpc/testing_call.h"
#include "server/service/screened_beats.h"
#include "server/tls/tls_test_authority.h"

namespace muster::server {
namespace guard_test {

using rpc::Code;
using rpc::TestingCall;
using ::testing::HasSubstr;

constexpr const char* kRegister = "/muster.v1.CoordinatorService/RegisterNode";
constexpr const char* kGet = "/muster.v1.CoordinatorService/GetTopology";
constexpr const char* kWatch = "/muster.v1.CoordinatorService/WatchTopology";
constexpr const char* kStream = "/muster.v1.CoordinatorService/HeartbeatStream";
constexpr const char* kPut = "/muster.v1.StoreService/Put";

/// A guard of a server with certificates and a list of revoked ones, in files.
class GuardTest : public ::testing::Test {
 protected:
  GuardTest() {
    set_log_sink({});
    pki::CertificateOrder order{"s1", {security::kServerName}, {}, {"muster:role:server"}};
    order.use = pki::CertificateOrder::Use::kServerAndClient;
    order.not_before = loop_.wall_now() - 1h;
    order.not_after = loop_.wall_now() + 1h;
    const TestPair server = ca_.issue(order);
    directory_.write("s1.crt", server.certificate);
    directory_.write("s1.key", server.key);
    directory_.write("ca.crt", ca_.pem());
    directory_.write("crl", ca_.list({}));
  }
  TlsKeeper& secure() {
    TlsKeeper::Options options;
    options.files = {directory_.file("s1.crt"), directory_.file("s1.key"),
                     directory_.file("ca.crt"), directory_.file("crl")};
    options.server_id = "s1";
    tls_.emplace(loop_, options);
    EXPECT_TRUE(tls_->start().ok());
    return *tls_;
  }
  TestPair client(const std::string& role, const std::string& id,
                  std::vector<std::string> more = {}) {
    more.push_back("muster:role:" + role);
    pki::CertificateOrder order{id, {id + ".example"}, {"10.0.0.1"}, std::move(more)};
    order.not_before = loop_.wall_now() - 1h;
    order.not_after = loop_.wall_now() + 1h;
    return ca_.issue(order);
  }
  static std::shared_ptr<TestingCall> call(const char* method,
                                           const std::string& certificate = "") {
    auto made = std::make_shared<TestingCall>(method);
    made->shown = certificate;
    return made;
  }

  EventLoop loop_;
  const TestAuthority ca_{std::chrono::floor<std::chrono::seconds>(loop_.wall_now()) - 1h};
  const TestDirectory directory_;
  std::optional<TlsKeeper> tls_;
};

TEST_F(GuardTest, ACallWithoutACertificateIsRefusedWhereTheyAreUsed) {
  Guard guard(loop_, {.tls = &secure(), .limits = {}});
  const auto bare = call(kGet);
  EXPECT_FALSE(guard.admit(bare));
  EXPECT_EQ(bare->finished->code, Code::kPermissionDenied);
  EXPECT_EQ(guard.counts().denied, 1U);
}

// T21: identity, role and standing are asked for each call.
TEST_F(GuardTest, TheRoleDecidesWhatMayBeCalled) {
  Guard guard(loop_, {.tls = &secure(), .limits = {}});
  const TestPair reader = client("reader", "r1");
  EXPECT_TRUE(guard.admit(call(kGet, reader.certificate)));
  const auto put = call(kPut, reader.certificate);
  EXPECT_FALSE(guard.admit(put));
  EXPECT_EQ(put->finished->code, Code::kPermissionDenied);
  EXPECT_THAT(put->finished->message, HasSubstr("reader r1 does not allow"));
  const auto other = call("/any.Service/Method", reader.certificate);
  EXPECT_FALSE(guard.admit(other));
  EXPECT_EQ(other->finished->code, Code::kUnimplemented);
}

TEST_F(GuardTest, ANodeSpeaksOnlyForItself) {
  Guard guard(loop_, {.tls = &secure(), .limits = {}});
  const TestPair node = client("node", "n1");
  const auto own = call(kRegister, node.certificate);
  ASSERT_TRUE(guard.admit(own));
  EXPECT_TRUE(guard.registers(own, "n1", "10.0.0.1"));
  EXPECT_FALSE(guard.registers(own, "n1", "10.0.0.2"));
  EXPECT_THAT(own->finished->message, HasSubstr("does not hold the address 10.0.0.2"));
  const auto others = call(kRegister, node.certificate);
  ASSERT_TRUE(guard.admit(others));
  EXPECT_FALSE(guard.speaks_for(others, "n2"));
  EXPECT_THAT(others->finished->message, HasSubstr("cannot speak for node n2"));
}

TEST_F(GuardTest, ACallThatNobodyHasLookedAtSpeaksForNobody) {
  Guard guard(loop_, {.tls = nullptr, .limits = {}});
  const auto unseen = call(kRegister);
  EXPECT_FALSE(guard.speaks_for(unseen, "n1"));
  EXPECT_EQ(unseen->finished->code, Code::kPermissionDenied);
}

// P11, T22: an open call ends when its certificate is revoked; others go on.
TEST_F(GuardTest, AnOpenCallEndsWhenItsCertificateIsRevoked) {
  TlsKeeper& tls = secure();
  Guard guard(loop_, {.tls = &tls, .limits = {}});
  tls.on_change([&] { guard.recheck(); });
  const TestPair first = client("node", "n1");
  const TestPair second = client("node", "n2");
  const auto ends = call(kWatch, first.certificate);
  const auto stays = call(kWatch, second.certificate);
  ASSERT_TRUE(guard.admit(ends));
  ASSERT_TRUE(guard.admit(stays));
  directory_.write("crl", ca_.list({first.serial}, 1s));
  tls.reload();
  ASSERT_TRUE(ends->finished.has_value());
  EXPECT_EQ(ends->finished->code, Code::kPermissionDenied);
  EXPECT_FALSE(stays->finished.has_value());
  EXPECT_FALSE(guard.admit(call(kWatch, first.certificate)));
  EXPECT_TRUE(guard.admit(call(kWatch, second.certificate)));
  EXPECT_EQ(guard.counts().streams_ended, 1U);
}

TEST_F(GuardTest, TooManyRequestsAreToldWhenToComeAgain) {
  Guard guard(loop_, {.tls = nullptr, .limits = RequestLimitOptions{}});
  for (int i = 0; i < 2; ++i) {
    const auto each = call(kRegister);
    ASSERT_TRUE(guard.admit(each));
    EXPECT_TRUE(guard.charge(each, LimitedCall::kRegister, "n1"));
    each->finish({});
  }
  const auto third = call(kRegister);
  ASSERT_TRUE(guard.admit(third));
  EXPECT_FALSE(guard.charge(third, LimitedCall::kRegister, "n1"));
  EXPECT_EQ(third->finished->code, Code::kResourceExhausted);
  EXPECT_GT(third->finished->retry_after, 0s);
  const auto another = call(kRegister);
  ASSERT_TRUE(guard.admit(another));
  EXPECT_TRUE(guard.charge(another, LimitedCall::kRegister, "n2"));
  EXPECT_EQ(guard.counts().limited, 1U);
}

TEST_F(GuardTest, ARequestRefusedForWantOfALeaderCostsNothing) {
  Guard guard(loop_, {.tls = nullptr, .limits = RequestLimitOptions{}});
  for (int i = 0; i < 20; ++i) {
    const auto each = call(kRegister);
    ASSERT_TRUE(guard.admit(each));
    ASSERT_TRUE(guard.charge(each, LimitedCall::kRegister, "n1"));
    each->finish({Code::kUnavailable, "nobody leads at this moment; try again", {}});
  }
}

// T17: a watch's place comes back on every path.
TEST_F(GuardTest, WatchesAreCountedAndGivenBackHoweverTheyEnd) {
  Guard guard(loop_, {.tls = nullptr, .limits = RequestLimitOptions{}});
  for (int round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<TestingCall>> open;
    for (int i = 0; i < 10; ++i) {
      open.push_back(call(kWatch));
      ASSERT_TRUE(guard.admit(open.back()));
      ASSERT_TRUE(guard.open_watch(open.back()));
    }
    const auto further = call(kWatch);
    ASSERT_TRUE(guard.admit(further));
    EXPECT_FALSE(guard.open_watch(further));
    EXPECT_EQ(further->finished->code, Code::kResourceExhausted);
    for (const auto& each : open) {
      if (round == 0) each->finish({});
      if (round == 1) each->end();
      if (round == 2) each->cut();
    }
  }
}

TEST_F(GuardTest, NobodyTakesAllTheCallsThatAServerHas) {
  RequestLimitOptions few;
  few.calls = 3;
  Guard guard(loop_, {.tls = &secure(), .limits = few});
  const TestPair node = client("node", "n1");
  const TestPair other = client("node", "n2");
  const TestPair server = client("server", "s2");
  std::vector<std::shared_ptr<TestingCall>> open;
  for (int i = 0; i < 3; ++i) {
    open.push_back(call(kStream, node.certificate));
    ASSERT_TRUE(guard.admit(open.back()));
  }
  const auto further = call(kGet, node.certificate);
  EXPECT_FALSE(guard.admit(further));
  EXPECT_EQ(further->finished->code, Code::kResourceExhausted);
  EXPECT_GT(further->finished->retry_after, 0s);
  EXPECT_TRUE(guard.admit(call(kGet, other.certificate)));
  std::vector<std::shared_ptr<TestingCall>> passed_on;
  for (int i = 0; i < 10; ++i) {
    passed_on.push_back(call(kGet, server.certificate));
    EXPECT_TRUE(guard.admit(passed_on.back())) << "servers pass on what others ask";
  }
  open[0]->finish({});
  open[1]->end();
  EXPECT_TRUE(guard.admit(call(kGet, node.certificate)));
  EXPECT_TRUE(guard.admit(call(kGet, node.certificate)));
}

// A client that takes none of its answers would have any number of calls otherwise.
TEST_F(GuardTest, APlaceIsGivenBackWhenTheAnswerWasTaken) {
  RequestLimitOptions few;
  few.calls = 2;
  few.watches = 1;
  Guard guard(loop_, {.tls = nullptr, .limits = few});
  const auto get = call(kGet);
  get->takes_answer = false;
  ASSERT_TRUE(guard.admit(get));
  const auto watch = call(kWatch);
  watch->takes_answer = false;
  ASSERT_TRUE(guard.admit(watch));
  ASSERT_TRUE(guard.open_watch(watch));
  get->reply(rpc::payload("answer"));
  watch->finish({Code::kUnavailable, "this server is stopping", {}});
  EXPECT_FALSE(guard.admit(call(kGet))) << "both answers are on their way";
  get->end();
  const auto second = call(kWatch);
  ASSERT_TRUE(guard.admit(second));
  EXPECT_FALSE(guard.open_watch(second)) << "so is the end of the watch";
  watch->end();
  const auto third = call(kWatch);
  ASSERT_TRUE(guard.admit(third));
  EXPECT_TRUE(guard.open_watch(third));
}

TEST_F(GuardTest, AnAgentLosesOnlyTheHeartbeatsItMayNotSend) {
  Guard guard(loop_, {.tls = &secure(), .limits = RequestLimitOptions{}});
  const TestPair agent = client("agent", "a1", {"muster:carries:n1", "muster:carries:rack7-*"});
  const auto stream = call(kStream, agent.certificate);
  ASSERT_TRUE(guard.admit(stream));
  v1::HeartbeatBatch batch;
  for (const char* id : {"n2", "n1", "rack8-1", "rack7-1"}) {
    batch.add_heartbeats()->set_node_id(id);
  }
  const ScreenedBeats screened(guard, stream, batch);
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

TEST_F(GuardTest, EachNodeThatAnAgentCarriesIsCountedForItself) {
  Guard guard(loop_, {.tls = &secure(), .limits = RequestLimitOptions{}});
  const TestPair agent = client("agent", "a1", {"muster:carries:n*"});
  const auto stream = call(kStream, agent.certificate);
  ASSERT_TRUE(guard.admit(stream));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(guard.check_beat(stream, "n" + std::to_string(i)).ok());
  }
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(guard.check_beat(stream, "n1").ok());
  EXPECT_TRUE(guard.check_beat(stream, "n1").is(Errc::kThrottled));
  guard.give_back_beat(stream, "n1");
  EXPECT_TRUE(guard.check_beat(stream, "n1").ok());
}

TEST_F(GuardTest, ChangesAreRecordedWithWhoAndHowTheyEnded) {
  AuditLog audit({directory_.file("audit")});
  ASSERT_TRUE(audit.open().ok());
  Guard guard(loop_, {.tls = &secure(), .limits = {}, .audit = &audit, .position = [] {
                        return AuditLog::Position{3, 9};
                      }});
  const auto put = call(kPut, client("admin", "op").certificate);
  ASSERT_TRUE(guard.admit(put));
  ASSERT_TRUE(guard.charge(put, LimitedCall::kWrite, "some/key"));
  put->finish({});
  const auto get = call(kGet, client("admin", "op").certificate);
  ASSERT_TRUE(guard.admit(get));
  get->finish({});
  std::ostringstream text;
  text << std::ifstream(directory_.file("audit")).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(R"("caller":"admin op")"));
  EXPECT_THAT(text.str(), HasSubstr(R"("subject":"some/key","epoch":3,"version":9,"code":0)"));
  EXPECT_EQ(text.str().find("GetTopology"), std::string::npos);
}

// Who floods a server must not wash away what it did before.
TEST_F(GuardTest, WhatIsRefusedForBeingTooManyIsNotRecorded) {
  AuditLog audit({directory_.file("audit")});
  ASSERT_TRUE(audit.open().ok());
  Guard guard(loop_, {.tls = &secure(), .limits = RequestLimitOptions{}, .audit = &audit});
  const TestPair node = client("node", "n1");
  for (int i = 0; i < 100; ++i) {
    const auto each = call(kRegister, node.certificate);
    ASSERT_TRUE(guard.admit(each));
    if (guard.charge(each, LimitedCall::kRegister, "n1")) each->finish({});
  }
  std::ostringstream text;
  text << std::ifstream(directory_.file("audit")).rdbuf();
  const std::string lines = text.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_EQ(guard.counts().limited, 98U);
}

TEST_F(GuardTest, AServerShowsAServersCertificateOfItsOwnName) {
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
  EXPECT_THAT(start("n1", client("node", "n1")), HasSubstr("one of the role server"));
  EXPECT_THAT(start("s2", client("server", "s2")), HasSubstr(security::kServerName));
}

}  // namespace guard_test
}  // namespace muster::server
