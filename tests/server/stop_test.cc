// What clients see of a server that is stopped: each call hears the server's word, and what was
// acknowledged is there afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "rpc/call.h"
#include "rpc/channel.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {
namespace stop_test {

using ::testing::HasSubstr;

constexpr int kRounds = 4;
constexpr std::size_t kAcknowledged = 50;  ///< Writes before the server is stopped.
constexpr const char* kPut = "/muster.v1.StoreService/Put";
constexpr const char* kPutStream = "/muster.v1.StoreService/PutStream";
constexpr const char* kHealthWatch = "/grpc.health.v1.Health/Watch";

v1::StorePutRequest put_of(const std::string& key) {
  v1::StorePutRequest request;
  request.set_key(key);
  request.set_value("value");
  return request;
}

class StopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.emplace("s1", "file://" + (dir_.path() / "store").string(), dir_.path());
    ASSERT_TRUE(leads());
  }
  bool leads() {
    return eventually([&] { return health(*server_).raft_state() == v1::RAFT_STATE_LEADER; });
  }
  void expect_kept(const std::set<std::string>& acknowledged) {
    EXPECT_GE(acknowledged.size(), kAcknowledged);
    server_->start();
    ASSERT_TRUE(leads());
    for (const std::string& key : acknowledged) EXPECT_TRUE(get(*server_, key)) << key;
  }

  TempDir dir_;
  std::optional<Musterd> server_;
};

/// Our own client: calls one after another in several lanes, and two streams.
class OwnLoad {
 public:
  OwnLoad(const std::string& address, int round) : prefix_("own" + std::to_string(round) + "-") {
    rpc::ChannelOptions options;
    options.host = address.substr(0, address.rfind(':'));
    options.port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    channel_.emplace(loop_, turn_, options, Random(1));
  }

  void run(std::size_t lanes, pid_t server) {
    calls_.resize(lanes);
    for (std::size_t lane = 0; lane < lanes; ++lane) next(lane);
    stream_ = channel_->start(kPutStream, std::nullopt, {},
                              {.message = [this](const std::string& bytes) { streamed(bytes); },
                               .end = [this](const rpc::Outcome& end) { stream_end = end; }});
    for (int i = 0; i < 64; ++i) send();
    watch_ = channel_->start(kHealthWatch, std::nullopt, {},
                             {.message = [](const std::string&) {},
                              .end = [this](const rpc::Outcome& end) { watch_end = end; }});
    watch_->send(rpc::payload(""));
    ASSERT_TRUE(until([&] { return acknowledged.size() >= kAcknowledged; }));
    ASSERT_EQ(::kill(server, SIGTERM), 0);
    ASSERT_TRUE(until([&] { return ends.size() == calls_.size() && stream_end && watch_end; }));
  }

  std::set<std::string> acknowledged;
  std::vector<rpc::Outcome> ends;  ///< Of each lane's last call.
  std::optional<rpc::Outcome> stream_end;
  std::optional<rpc::Outcome> watch_end;

 private:
  bool until(const std::function<bool()>& holds) {
    const MonoTime end = loop_.now() + 20s;
    while (!holds() && loop_.now() < end) loop_.run_until(loop_.now() + 1ms);
    return holds();
  }
  void next(std::size_t lane) {
    const std::string key = prefix_ + std::to_string(++count_);
    calls_[lane] = channel_->start(kPut, loop_.now() + 10s, {},
                                   {.message = [](const std::string&) {},
                                    .end =
                                        [this, lane, key](const rpc::Outcome& end) {
                                          if (!end.ok()) return ends.push_back(end);
                                          acknowledged.insert(key);
                                          loop_.post([this, lane] { next(lane); });
                                        }});
    calls_[lane]->send(rpc::payload(put_of(key).SerializeAsString()));
    calls_[lane]->finish();
  }
  void send() {
    const std::string key = prefix_ + "stream" + std::to_string(sent_++);
    v1::StorePutBatch batch;
    *batch.add_puts() = put_of(key);
    stream_->send(rpc::payload(batch.SerializeAsString()));
  }
  void streamed(const std::string& bytes) {
    v1::StorePutOutcomes outcomes;
    ASSERT_TRUE(outcomes.ParseFromString(bytes));
    for (const auto& outcome : outcomes.outcomes()) {
      const std::string key = prefix_ + "stream" + std::to_string(answered_++);
      if (outcome.code() == 0) acknowledged.insert(key);
      send();
    }
  }

  EventLoop loop_;
  rpc::SendTurn turn_{loop_};
  const std::string prefix_;
  std::optional<rpc::Channel> channel_;
  std::vector<std::unique_ptr<rpc::ClientCall>> calls_;
  std::unique_ptr<rpc::ClientCall> stream_;
  std::unique_ptr<rpc::ClientCall> watch_;
  int count_ = 0;
  int sent_ = 0;
  int answered_ = 0;
};

TEST_F(StopTest, OurClientsHearTheServersWord) {
  for (int round = 0; round < kRounds; ++round) {
    OwnLoad load(server_->address(), round);
    load.run(8, server_->pid());
    EXPECT_EQ(server_->wait(), 0);
    for (const rpc::Outcome& end : load.ends) {
      EXPECT_NE(end.word, rpc::Outcome::Word::kNobody) << end.message;
      EXPECT_EQ(end.code, rpc::Code::kUnavailable) << end.message;
    }
    for (const auto* end : {&*load.stream_end, &*load.watch_end}) {
      EXPECT_EQ(end->word, rpc::Outcome::Word::kServer) << end->message;
      EXPECT_EQ(end->code, rpc::Code::kUnavailable) << end->message;
      EXPECT_EQ(end->trailers.find(rpc::kServerKey), "s1");
    }
    expect_kept(load.acknowledged);
  }
}

/// gRPC's client: each thread puts one key after another until that fails.
struct GrpcLane {
  std::set<std::string> acknowledged{};
  grpc::Status end{};
  bool word_of_server = false;

  void run(v1::StoreService::Stub& store, const std::string& prefix,
           std::atomic<std::size_t>& all) {
    for (int i = 0;; ++i) {
      Context context(10s, false);
      v1::StorePutResponse response;
      const std::string key = prefix + std::to_string(i);
      end = store.Put(&context, put_of(key), &response);
      word_of_server = context.GetServerTrailingMetadata().contains(rpc::kServerKey);
      if (!end.ok()) return;
      acknowledged.insert(key);
      ++all;
    }
  }
};

TEST_F(StopTest, ClientsOfGrpcHearTheServersWord) {
  for (int round = 0; round < kRounds; ++round) {
    const auto channel = open_channel(server_->address(), {});
    const auto store = v1::StoreService::NewStub(channel);
    std::vector<GrpcLane> lanes(6);
    std::vector<std::thread> threads;
    std::atomic<std::size_t> all{0};
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const std::string prefix = "grpc" + std::to_string(round) + "-" + std::to_string(i) + "-";
      threads.emplace_back([&, i, prefix] { lanes[i].run(*store, prefix, all); });
    }
    // A stream that does nothing when the server stops.
    const auto coordinator = v1::CoordinatorService::NewStub(channel);
    grpc::ClientContext context;
    const auto stream = coordinator->HeartbeatStream(&context);
    ASSERT_TRUE(stream->Write({}));
    EXPECT_TRUE(eventually([&] { return all >= kAcknowledged; }));
    ASSERT_EQ(::kill(server_->pid(), SIGTERM), 0);
    v1::HeartbeatBatchResponse response;
    while (stream->Read(&response)) {
    }
    const grpc::Status stream_end = stream->Finish();
    EXPECT_EQ(stream_end.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_TRUE(context.GetServerTrailingMetadata().contains(rpc::kServerKey))
        << stream_end.error_message();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(server_->wait(), 0);
    std::set<std::string> acknowledged;
    for (const GrpcLane& lane : lanes) {
      acknowledged.insert(lane.acknowledged.begin(), lane.acknowledged.end());
      EXPECT_EQ(lane.end.error_code(), grpc::StatusCode::UNAVAILABLE) << lane.end.error_message();
      // A call that came after the end has found nobody.
      if (!lane.word_of_server) {
        EXPECT_THAT(lane.end.error_message(), HasSubstr("failed to connect"));
      }
    }
    expect_kept(acknowledged);
  }
}

}  // namespace stop_test
}  // namespace muster::testing
