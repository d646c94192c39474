#include <gtest/gtest.h>

#include <fstream>

#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {
namespace limits_test {

using grpc::StatusCode;

class LimitsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Musterd> start(std::vector<std::string> words) {
    return std::make_unique<Musterd>("s1", "file://" + (dir_.path() / "store").string(),
                                     dir_.path(), std::move(words));
  }
  void configure(const std::string& yaml) const { std::ofstream(dir_.path() / "c.yaml") << yaml; }

  TempDir dir_;
};

TEST_F(LimitsTest, TooManyRequestsAreRefusedWithTheTimeToComeAgainAndReloadRaisesTheLimit) {
  configure("limits: {register: \"6:3\"}\n");
  const auto server = start({"--limits", "on", "--config", (dir_.path() / "c.yaml").string()});
  // Refusals for want of a leader have cost nothing.
  ASSERT_TRUE(eventually([&] { return register_node(*server, node("n1")).ok(); }));
  ASSERT_TRUE(register_node(*server, node("n1")).ok());
  ASSERT_TRUE(register_node(*server, node("n1")).ok());
  v1::RegisterNodeRequest request;
  *request.mutable_node() = node("n1");
  v1::RegisterNodeResponse response;
  Context context;
  EXPECT_EQ(server->coordinator().RegisterNode(&context, request, &response).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  const auto& trailer = context.GetServerTrailingMetadata();
  const auto retry = trailer.find("retry-after");
  ASSERT_NE(retry, trailer.end());
  EXPECT_GT(std::stoi(std::string(retry->second.data(), retry->second.size())), 0);
  EXPECT_TRUE(register_node(*server, node("n2")).ok()) << "counted for each node";

  configure("limits: {register: \"1000:1000\"}\n");
  server->reload();
  EXPECT_TRUE(eventually([&] { return register_node(*server, node("n1")).ok(); }));
}

// T17: what is counted is given back.
TEST_F(LimitsTest, WatchesAreCountedAndGivenBack) {
  const auto server = start({"--limits", "on", "--limits-watches", "2"});
  ASSERT_TRUE(eventually([&] { return health(*server).healthy(); }));
  using Reader = std::unique_ptr<grpc::ClientReader<v1::TopologyUpdate>>;
  v1::TopologyUpdate update;
  for (int round = 0; round < 3; ++round) {
    Context first(30s), second(30s), third(30s);
    const Reader one = server->coordinator().WatchTopology(&first, {});
    ASSERT_TRUE(one->Read(&update)) << one->Finish().error_message();
    const Reader two = server->coordinator().WatchTopology(&second, {});
    ASSERT_TRUE(two->Read(&update)) << two->Finish().error_message();
    const Reader three = server->coordinator().WatchTopology(&third, {});
    EXPECT_FALSE(three->Read(&update));
    EXPECT_EQ(three->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
    first.TryCancel();
    second.TryCancel();
    EXPECT_EQ(one->Finish().error_code(), StatusCode::CANCELLED);
    EXPECT_EQ(two->Finish().error_code(), StatusCode::CANCELLED);
    EXPECT_TRUE(eventually([&] { return health(*server).watch_subscribers() == 0; }));
  }
}

TEST_F(LimitsTest, OpenCallsAreCountedAndGivenBack) {
  const auto server = start({"--limits", "on", "--limits-calls", "3"});
  ASSERT_TRUE(eventually([&] { return health(*server).healthy(); }));
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<
      std::unique_ptr<grpc::ClientReaderWriter<v1::HeartbeatBatch, v1::HeartbeatBatchResponse>>>
      streams;
  for (int i = 0; i < 3; ++i) {
    contexts.push_back(std::make_unique<Context>(60s));
    streams.push_back(server->coordinator().HeartbeatStream(contexts.back().get()));
    v1::HeartbeatBatchResponse response;
    ASSERT_TRUE(streams.back()->Write({}));
    ASSERT_TRUE(streams.back()->Read(&response));
  }
  EXPECT_EQ(put(*server, "k", "v").error_code(), StatusCode::RESOURCE_EXHAUSTED);
  contexts[0]->TryCancel();
  EXPECT_TRUE(eventually([&] { return put(*server, "k", "v").ok(); }));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    contexts[i]->TryCancel();
    EXPECT_FALSE(streams[i]->Finish().ok());
  }
}

TEST_F(LimitsTest, TheyAreOffOnLoopbackOnly) {
  EXPECT_EQ(run_program({MUSTERD_PROGRAM, "--limits", "off", "--listen", "0.0.0.0:0", "--advertise",
                         "h1:9000", "--cert", "c", "--key", "k", "--cacert", "a", "--engine",
                         "file:///nowhere"}),
            64);
}

}  // namespace limits_test
}  // namespace muster::testing
