#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "tests/cli/muster_program.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {
namespace operator_test {

/// One server on a directory, and what an operator does to it.
class OperatorTest : public ::testing::Test {
 protected:
  void start(std::vector<std::string> extra = {}, MusterdPlace place = {}) {
    server_.reset();
    server_.emplace("s1", "file://" + (dir_.path() / "store").string(), dir_.path(),
                    std::move(extra), true, std::move(place));
    ASSERT_TRUE(eventually([&] { return health(*server_).raft_state() == v1::RAFT_STATE_LEADER; }));
  }
  bool becomes(const std::string& id, v1::NodeState state) {
    return eventually([&] {
      const auto found = find(topology(*server_), id);
      return found && found->state() == state;
    });
  }
  /// Registers a run of the node and has it heard.
  bool joins(const std::string& id, unsigned generation, v1::NodeState as) {
    return register_node(*server_, node(id, generation)).ok() &&
           heartbeat(*server_, id, generation).ok() && becomes(id, as);
  }
  bool leaves(const std::string& id) {
    v1::DeregisterNodeRequest request;
    request.set_node_id(id);
    v1::DeregisterNodeResponse response;
    Context context;
    return server_->coordinator().DeregisterNode(&context, request, &response).ok();
  }
  /// `muster` with these words; answers with its exit code.
  int muster(std::vector<std::string> words) {
    words.insert(words.begin(), MUSTER_PROGRAM);
    for (const std::string& word : {std::string("--server"), server_->address()}) {
      words.push_back(word);
    }
    return run_program(words);
  }
  bool set_ring(std::uint32_t virtual_nodes) {
    return muster({"ring", "set", "--virtual-nodes-per-physical", std::to_string(virtual_nodes)}) ==
           0;
  }
  std::uint32_t virtual_nodes() {
    return topology(*server_).hash_ring_config().virtual_nodes_per_physical();
  }

  TempDir dir_;
  std::optional<Musterd> server_;
};

// R24: a node of weight 300 on a ring of 4096 ended the server at the first look at a plan.
TEST_F(OperatorTest, AnOddRingOrWeightEndsNoServer) {
  const std::string http = "127.0.0.1:" + std::to_string(free_port());
  start({"--http-listen", http});
  v1::NodeInfo heavy = node("heavy");
  heavy.set_weight(300);
  ASSERT_TRUE(register_node(*server_, heavy).ok());
  EXPECT_FALSE(set_ring(4096)) << "300 × 4096 is above 2^20";
  ASSERT_TRUE(set_ring(3495));
  v1::NodeInfo heavier = node("heavier", 2);
  heavier.set_weight(301);
  EXPECT_EQ(register_node(*server_, heavier).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto plan = [&](const std::string& what) {
    return run_program({"curl", "-sf", "-m", "20", "-o", "/dev/null",
                        "http://" + http + "/api/ring/plan?" + what});
  };
  constexpr int kRefused = 22;  // What curl makes of a 400.
  EXPECT_EQ(plan("add=heavy"), 0);
  EXPECT_EQ(plan("add=a,a,heavy&remove=a"), 0);
  EXPECT_EQ(muster({"ring", "plan", "--add", "o1"}), 0);
  std::string many = "add=heavy";
  for (int i = 0; i < 1000; ++i) many += "," + std::to_string(i);
  EXPECT_EQ(plan("add=x:4294967295"), kRefused) << "an id that no node can have";
  EXPECT_EQ(plan("remove=x:4294967295"), kRefused);
  EXPECT_EQ(plan(many), kRefused) << "more than four million virtual nodes";
  EXPECT_EQ(server_->terminate(), 0);
}

// R27: a drain was lost when the node restarted cleanly.
TEST_F(OperatorTest, ADrainOutlivesACleanRestartOfTheNodeAndOfTheServer) {
  start();
  ASSERT_TRUE(joins("n1", 1, v1::NODE_STATE_ACTIVE));
  ASSERT_EQ(muster({"node", "drain", "n1"}), 0);
  ASSERT_TRUE(becomes("n1", v1::NODE_STATE_DRAINING));
  ASSERT_TRUE(leaves("n1"));
  ASSERT_TRUE(joins("n1", 2, v1::NODE_STATE_DRAINING));
  ASSERT_TRUE(leaves("n1"));
  EXPECT_EQ(server_->terminate(), 0);
  start();
  // Of a node that is not there it can be taken back, too, and leaves a decision.
  ASSERT_EQ(muster({"node", "undrain", "n1"}), 0);
  const Outcome story = run_muster({"node", "explain", "n1", "--server", server_->address()});
  EXPECT_NE(story.out.find("n1, which is not registered, is no longer to be drained, asked by"),
            std::string::npos)
      << story.out;
  EXPECT_NE(muster({"node", "undrain", "n1"}), 0);
  ASSERT_TRUE(joins("n1", 3, v1::NODE_STATE_ACTIVE));
  ASSERT_EQ(muster({"node", "drain", "n1"}), 0);
  ASSERT_TRUE(leaves("n1"));
  ASSERT_TRUE(register_node(*server_, node("n1", 4)).ok());
  EXPECT_TRUE(find(topology(*server_), "n1")->drain_requested());
  const std::uint64_t version = topology(*server_).version();
  ASSERT_EQ(muster({"node", "undrain", "n1"}), 0);
  EXPECT_FALSE(find(topology(*server_), "n1")->drain_requested());
  EXPECT_EQ(topology(*server_).version(), version + 1);
  ASSERT_TRUE(heartbeat(*server_, "n1", 4).ok());
  EXPECT_TRUE(becomes("n1", v1::NODE_STATE_ACTIVE));
}

// R28: options of the ring were ignored in silence after the first start.
TEST_F(OperatorTest, RingOptionsThatDoNotCountAreWarnedOfAndTheRingIsSet) {
  const char* const warning = "ring options ignored";
  start({"--virtual-nodes-per-physical", "8"});
  ASSERT_TRUE(eventually([&] { return virtual_nodes() == 8; }));
  EXPECT_EQ(server_->log().find(warning), std::string::npos);
  EXPECT_EQ(server_->terminate(), 0);
  start({"--virtual-nodes-per-physical", "64"});
  EXPECT_EQ(virtual_nodes(), 8U);
  EXPECT_NE(server_->log().find(warning), std::string::npos);
  ASSERT_TRUE(set_ring(64));
  EXPECT_EQ(virtual_nodes(), 64U);
  EXPECT_EQ(topology(*server_).hash_ring_config().replication_factor(), 3U) << "it was not given";
  EXPECT_EQ(muster({"ring", "set", "--replication-factor", "65"}), 64);
  EXPECT_EQ(muster({"ring", "set"}), 64);
}

// R25: a leader whose clock was an hour ahead removed a joining node after 11 s of 60.
// Takes 11 s: a new leader gives its nodes 4 s before it judges them, and two lead.
TEST_F(OperatorTest, AWallClockTenYearsOffRemovesNobody) {
  const std::vector<std::string> quick{"--lease-timeout",
                                       "1s",
                                       "--heartbeat-interval",
                                       "500ms",
                                       "--heartbeat-batch-interval",
                                       "200ms",
                                       "--suspect-timeout",
                                       "2s",
                                       "--down-timeout",
                                       "4s",
                                       "--leader-grace-period",
                                       "4s",
                                       "--joining-timeout",
                                       "60s"};
  start(quick);
  ASSERT_TRUE(register_node(*server_, node("joining")).ok());
  for (const char* jump : {"315360000", "-315360000"}) {
    EXPECT_EQ(server_->terminate(), 0);
    MusterdPlace place;
    place.before = {"env", "LD_PRELOAD=" JUMPING_CLOCK, std::string("JUMP=") + jump};
    start(quick, place);
    // Long enough for the jump and for the grace; the removal would come right after.
    ASSERT_TRUE(eventually([&] { return server_->log().find("leading") != std::string::npos; }));
    let_pass(4500ms);
    ASSERT_TRUE(put(*server_, "k", "v").ok());
    EXPECT_TRUE(find(topology(*server_), "joining")) << "with a clock off by " << jump << " s";
  }
}

}  // namespace operator_test
}  // namespace muster::testing
