// Leading by RPC: campaigns of clients through real servers, which die and freeze, beside `muster
// run` and an operator.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "client/campaign.h"
#include "muster/v1/election.grpc.pb.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {
namespace election_service_test {

using client::CampaignEvent;
using client::CampaignEventKind;
using grpc::StatusCode;

/// One client that campaigns, and what it was told.
class Campaigner {
 public:
  Campaigner(std::string id, const std::vector<std::string>& servers, Duration lease,
             std::string prefix = {})
      : client_(client::SmartCoordinatorClient::create(servers).value()) {
    client::CampaignConfig config;
    config.name = "jobs";
    config.id = WorkerId(std::move(id));
    config.value = config.id.value() + ":80";
    config.lease = lease;
    config.prefix = std::move(prefix);
    campaign_ = client::Campaign::start(*client_, config, [this](const CampaignEvent& event) {
                  const MutexLock lock(mutex_);
                  ++counts_[event.kind];
                  last_[event.kind] = event;
                }).value();
  }
  [[nodiscard]] client::Campaign& campaign() { return *campaign_; }
  [[nodiscard]] int count(CampaignEventKind kind) const {
    const MutexLock lock(mutex_);
    const auto found = counts_.find(kind);
    return found == counts_.end() ? 0 : found->second;
  }
  [[nodiscard]] CampaignEvent last(CampaignEventKind kind) const {
    const MutexLock lock(mutex_);
    const auto found = last_.find(kind);
    return found == last_.end() ? CampaignEvent{kind} : found->second;
  }
  [[nodiscard]] bool leads_soon(Duration limit = 30s) {
    return eventually([this] { return campaign_->leads(); }, limit);
  }
  [[nodiscard]] bool waits_for(const std::string& leader) {
    return eventually([&] { return last(CampaignEventKind::kWaiting).leader == leader; });
  }
  /// What a kill of its process is to the servers.
  void vanish() { campaign_.reset(); }

 private:
  std::unique_ptr<client::SmartCoordinatorClient> client_;
  mutable Mutex mutex_;
  std::map<CampaignEventKind, int> counts_ MUSTER_GUARDED_BY(mutex_);
  std::map<CampaignEventKind, CampaignEvent> last_ MUSTER_GUARDED_BY(mutex_);
  std::unique_ptr<client::Campaign> campaign_;
};

/// Three servers on one directory.
class ElectionServiceTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(leader_of(all()), nullptr); }
  std::vector<Musterd*> all() { return {&s1_, &s2_, &s3_}; }
  std::vector<std::string> addresses() { return {s1_.address(), s2_.address(), s3_.address()}; }
  std::string url() { return "muster://" + s1_.address() + "," + s2_.address(); }
  /// `muster` with these words, on the election.
  int operate(std::vector<std::string> words) {
    words.insert(words.begin(), MUSTER_PROGRAM);
    words.insert(words.end(), {"--arbiter", url(), "--name", "jobs"});
    return run_program(words);
  }
  static std::unique_ptr<v1::ElectionService::Stub> elections(Musterd& server) {
    return v1::ElectionService::NewStub(server.channel());
  }

  TempDir dir_;
  std::string engine_ = "file://" + (dir_.path() / "store").string();
  Musterd s1_{"s1", engine_, dir_.path()};
  Musterd s2_{"s2", engine_, dir_.path()};
  Musterd s3_{"s3", engine_, dir_.path()};
};

TEST_F(ElectionServiceTest, ATermOutlastsTheKillingOfEachServer) {
  Campaigner first("w1", addresses(), 15s);
  ASSERT_TRUE(first.leads_soon());
  const Epoch epoch = first.campaign().epoch();
  Campaigner second("w2", addresses(), 15s);
  ASSERT_TRUE(second.waits_for("w1"));
  EXPECT_EQ(second.last(CampaignEventKind::kWaiting).value, "w1:80");
  for (Musterd* server : all()) {
    server->kill();
    server->start();
    ASSERT_NE(leader_of(all()), nullptr);
    ASSERT_TRUE(first.campaign().leads()) << "after the kill of " << server->id();
  }
  // Renewed by now, wherever that is.
  ASSERT_TRUE(eventually([&] { return first.campaign().left() > 8s; }));
  EXPECT_EQ(first.campaign().epoch(), epoch);
  EXPECT_EQ(first.count(CampaignEventKind::kGranted), 1);
  EXPECT_EQ(first.count(CampaignEventKind::kLost), 0);
  EXPECT_GT(first.count(CampaignEventKind::kDisconnected), 0) << "its server was one of them";
  EXPECT_FALSE(second.campaign().leads());
}

TEST_F(ElectionServiceTest, AServerThatFreezesIsLeftInTime) {
  Campaigner only("w1", addresses(), 12s);
  ASSERT_TRUE(only.leads_soon());
  const Epoch epoch = only.campaign().epoch();
  for (Musterd* server : all()) {
    server->freeze();
    let_pass(5s);
    EXPECT_TRUE(only.campaign().leads()) << server->id() << " is frozen";
    server->thaw();
  }
  EXPECT_EQ(only.campaign().epoch(), epoch);
  EXPECT_EQ(only.count(CampaignEventKind::kLost), 0);
}

TEST_F(ElectionServiceTest, AClientThatVanishesIsFollowedAfterItsLease) {
  Campaigner first("w1", {s1_.address()}, 3s);
  ASSERT_TRUE(first.leads_soon());
  Campaigner second("w2", {s2_.address()}, 3s);
  ASSERT_TRUE(second.waits_for("w1"));
  const Epoch epoch = first.campaign().epoch();
  const Duration left = first.campaign().left();
  first.vanish();
  let_pass(left / 2);
  EXPECT_FALSE(second.campaign().leads()) << "the first one may be alive";
  ASSERT_TRUE(second.leads_soon());
  EXPECT_GT(second.campaign().epoch(), epoch);
}

TEST_F(ElectionServiceTest, AReleaseLetsTheSuccessorBeginAtOnce) {
  Campaigner first("w1", {s1_.address()}, 60s);
  ASSERT_TRUE(first.leads_soon());
  Campaigner second("w2", {s3_.address()}, 60s);
  ASSERT_TRUE(second.waits_for("w1"));
  ASSERT_TRUE(first.campaign().stop());
  EXPECT_TRUE(first.last(CampaignEventKind::kResigned).confirmed);
  EXPECT_TRUE(second.leads_soon(15s)) << "long before a lease has passed";
}

TEST_F(ElectionServiceTest, AnOperatorStepsDownPausesAndResumesALeader) {
  Campaigner first("w1", {s1_.address()}, 20s);
  ASSERT_TRUE(first.leads_soon());
  Campaigner second("w2", {s2_.address()}, 20s);
  ASSERT_TRUE(second.waits_for("w1"));
  EXPECT_EQ(operate({"step-down"}), 0);
  ASSERT_TRUE(eventually([&] { return first.count(CampaignEventKind::kGiveUp) == 1; }));
  EXPECT_EQ(first.last(CampaignEventKind::kGiveUp).reason, "step-down");
  EXPECT_TRUE(first.campaign().leads()) << "its work is being stopped";
  first.campaign().resign();
  EXPECT_FALSE(first.campaign().leads());
  ASSERT_TRUE(second.leads_soon(15s));

  EXPECT_EQ(operate({"pause"}), 0);
  ASSERT_TRUE(eventually([&] { return second.count(CampaignEventKind::kGiveUp) == 1; }));
  second.campaign().resign();
  ASSERT_TRUE(first.leads_soon());
  ASSERT_TRUE(first.campaign().stop());
  let_pass(2s);
  EXPECT_FALSE(second.campaign().leads()) << "it is paused";
  EXPECT_EQ(operate({"resume"}), 0);
  EXPECT_TRUE(second.leads_soon());
}

TEST_F(ElectionServiceTest, ClientsAndMusterRunShareOneElection) {
  Campaigner first("w1", addresses(), 20s);
  ASSERT_TRUE(first.leads_soon());
  ChildProcess run({MUSTER_PROGRAM, "run", "--arbiter", url(), "--name", "jobs", "--id", "r1",
                    "--lease-timeout", "20s", "--", "sleep", "1000"});
  let_pass(2s);
  EXPECT_TRUE(first.campaign().leads());
  first.campaign().resign("r1");
  ASSERT_TRUE(first.waits_for("r1"));
  const CampaignEvent seen = first.last(CampaignEventKind::kWaiting);
  EXPECT_GT(seen.epoch, Epoch(1));
  EXPECT_EQ(operate({"step-down"}), 0);
  ASSERT_TRUE(first.leads_soon());
  EXPECT_GT(first.campaign().epoch(), seen.epoch);
  run.kill();
}

TEST_F(ElectionServiceTest, ObserversSeeEachLeaderAndItsValue) {
  const auto stub = elections(s2_);
  v1::LeaderRequest request;
  request.set_name("jobs");
  {
    Context context;
    v1::ElectionLeader leader;
    EXPECT_EQ(stub->Leader(&context, request, &leader).error_code(), StatusCode::NOT_FOUND);
  }
  Context context(60s);
  const auto reader = stub->Observe(&context, request);
  v1::ElectionLeader seen;
  ASSERT_TRUE(reader->Read(&seen));
  EXPECT_EQ(seen.leader(), "");
  Campaigner first("w1", {s1_.address()}, 3s);
  ASSERT_TRUE(reader->Read(&seen));
  while (seen.leader().empty()) ASSERT_TRUE(reader->Read(&seen));
  EXPECT_EQ(seen.leader(), "w1");
  EXPECT_EQ(seen.value(), "w1:80");
  EXPECT_EQ(seen.epoch(), 1U);
  EXPECT_GT(seen.left_ms(), 0U);
  {
    Context once;
    v1::ElectionLeader leader;
    ASSERT_TRUE(stub->Leader(&once, request, &leader).ok());
    EXPECT_EQ(leader.leader(), "w1");
  }
  first.vanish();
  ASSERT_TRUE(reader->Read(&seen));
  EXPECT_EQ(seen.leader(), "") << "its lease has expired";
  EXPECT_EQ(seen.epoch(), 1U);
}

TEST_F(ElectionServiceTest, RefusalsNameTheField) {
  const auto stub = elections(s1_);
  const auto refusal = [&](const std::function<void(v1::CampaignHello&)>& change) {
    Context context;
    const auto stream = stub->Campaign(&context);
    v1::CampaignRequest request;
    v1::CampaignHello& hello = *request.mutable_hello();
    hello.set_name("jobs");
    hello.set_id("w1");
    hello.set_session("0f2e7f5e-1111-4222-8333-444444444444");
    hello.set_lease_ms(1000);
    change(hello);
    stream->Write(request);
    v1::CampaignResponse response;
    while (stream->Read(&response)) {
    }
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  const auto names = [](const std::string& text, const char* field) {
    return text.find(field) != text.npos;
  };
  EXPECT_TRUE(names(refusal([](auto& hello) { hello.set_name("a/b"); }), "name"));
  EXPECT_TRUE(names(refusal([](auto& hello) { hello.set_id(""); }), "id"));
  EXPECT_TRUE(names(refusal([](auto& hello) { hello.set_session(""); }), "session"));
  EXPECT_TRUE(names(refusal([](auto& hello) { hello.set_lease_ms(99); }), "lease_ms"));
  EXPECT_TRUE(names(refusal([](auto& hello) { hello.set_priority(1); }), "priority"));
  EXPECT_TRUE(
      names(refusal([](auto& hello) { hello.set_value(std::string(1025, 'x')); }), "value"));
  EXPECT_TRUE(names(refusal([](auto& hello) { hello.set_prefix("/a"); }), "prefix"));
}

TEST_F(ElectionServiceTest, BeatsMustRiseAndAnotherStreamOfASessionReplacesTheFirst) {
  const auto stub = elections(s1_);
  v1::CampaignRequest hello;
  hello.mutable_hello()->set_name("jobs");
  hello.mutable_hello()->set_id("w1");
  hello.mutable_hello()->set_session("0f2e7f5e-1111-4222-8333-444444444444");
  hello.mutable_hello()->set_lease_ms(20000);
  Context context(60s);
  const auto stream = stub->Campaign(&context);
  ASSERT_TRUE(stream->Write(hello));
  v1::CampaignResponse response;
  while (!response.has_granted()) ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.granted().left_ms(), 16800U);
  EXPECT_EQ(response.granted().beat(), 0U);
  const std::uint64_t epoch = response.granted().epoch();

  hello.mutable_hello()->set_resume_epoch(epoch);
  Context again(60s);
  const auto second = stub->Campaign(&again);
  ASSERT_TRUE(second->Write(hello));
  ASSERT_TRUE(second->Read(&response));
  ASSERT_TRUE(response.has_renewed()) << response.ShortDebugString();
  EXPECT_EQ(response.renewed().epoch(), epoch);
  while (stream->Read(&response)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::ABORTED);

  v1::CampaignRequest beat;
  beat.mutable_beat()->set_number(1);
  ASSERT_TRUE(second->Write(beat));
  ASSERT_TRUE(second->Read(&response));
  EXPECT_EQ(response.renewed().beat(), 1U);
  second->Write(beat);
  while (second->Read(&response)) {
  }
  EXPECT_EQ(second->Finish().error_code(), StatusCode::INVALID_ARGUMENT);

  // A term that is not this session's does not go on.
  hello.mutable_hello()->set_resume_epoch(epoch + 1);
  Context third(60s);
  const auto other = stub->Campaign(&third);
  ASSERT_TRUE(other->Write(hello));
  ASSERT_TRUE(other->Read(&response));
  EXPECT_TRUE(response.has_lost()) << response.ShortDebugString();
  EXPECT_FALSE(other->Read(&response));
  EXPECT_TRUE(other->Finish().ok());
}

}  // namespace election_service_test
}  // namespace muster::testing
