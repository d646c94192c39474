// Three servers with a managed engine on three hosts whose cables are pulled: that of musterd, that
// of its etcd, or both.

#include <gtest/gtest.h>

#include <iostream>

#include "tests/server/managed_scene.h"
#include "tests/support/cables.h"

namespace muster::testing {
namespace partition_test {

using Net = Cables::Net;

class PartitionTest : public ManagedScene {
 protected:
  [[nodiscard]] std::string engine_host(std::size_t i) const override {
    return cables_.address(Net::kRaft, static_cast<int>(i));
  }
  [[nodiscard]] MusterdPlace place(std::size_t i) const override {
    return {cables_.address(Net::kRpc, static_cast<int>(i)), cables_.on(static_cast<int>(i))};
  }
  void SetUp() override {
    found(3);
    first_ = leader_of(all(), 60s);
    ASSERT_NE(first_, nullptr);
    host_ = static_cast<int>(number(first_));
    rest_ = others({first_});
    ASSERT_TRUE(register_node(*first_, node("before")).ok());
  }
  void TearDown() override { servers_.clear(); }
  struct Said {
    int code;
    std::string text;
    [[nodiscard]] bool names(const std::string& id) const {
      return text.find("\"" + id + "\"") != std::string::npos;
    }
  };
  /// What `muster` says on the host of the leader that was, where no cable is needed.
  Said beside_it(std::vector<std::string> words) {
    std::vector<std::string> run = cables_.on(host_);
    run.insert(run.end(), {"timeout", "6", MUSTER_PROGRAM});
    run.insert(run.end(), words.begin(), words.end());
    run.insert(run.end(), {"--server", first_->address()});
    ChildProcess child(run);
    std::string text;
    for (std::string line = child.read_line(); !line.empty(); line = child.read_line()) {
      text += line + "\n";
    }
    return {child.finish(), text};
  }
  Said register_beside_it(const std::string& id) {
    return beside_it(
        {"node", "register", id, "--type", "object", "--address", "10.0.0.1", "--port", "7000"});
  }
  Said read_beside_it() { return beside_it({"topology", "--linearizable", "--json"}); }

  bool register_soon(Musterd& server, const std::string& id, Duration limit = 60s) {
    return eventually(
        [&] {
          v1::RegisterNodeRequest request;
          *request.mutable_node() = node(id);
          v1::RegisterNodeResponse response;
          Context context(2s);
          return server.coordinator().RegisterNode(&context, request, &response).ok();
        },
        limit);
  }
  /// All agree again, and all have the same.
  void expect_recovered(const std::vector<std::string>& ids) {
    ASSERT_NE(leader_of(all(), 60s), nullptr);
    ASSERT_TRUE(register_soon(*first_, "after"));
    for (Musterd* each : all()) {
      const auto shown = topology(*each);
      for (const std::string& id : ids) EXPECT_TRUE(find(shown, id)) << id << " on " << each->id();
      EXPECT_TRUE(find(shown, "after")) << each->id();
      EXPECT_FALSE(find(shown, "minority")) << each->id();
    }
  }

  Cables cables_{3};
  Musterd* first_ = nullptr;
  int host_ = 0;
  std::vector<Musterd*> rest_;
};

// P18: its lease ends, the others go on, and it neither confirms a write nor reads what is old.
TEST_F(PartitionTest, ALeaderWhoseEtcdIsCutOffConfirmsNothing) {
  // Takes about 17 s: three servers with their etcd start, the others take over after the lease of
  // 2 s, and calls beside the leader that was may run into their limit of 6 s.
  cables_.pull(Net::kRaft, host_);
  ASSERT_TRUE(register_soon(*rest_[0], "during"));
  const Said refused = register_beside_it("minority");
  EXPECT_NE(refused.code, 0) << refused.text;
  const Said read = read_beside_it();
  EXPECT_TRUE(read.code != 0 || read.names("during")) << read.text;
  // What it has it still shows, and says how old that is.
  EXPECT_TRUE(eventually([&] { return topology(*first_, false).age_ms() > 2000; }));
  EXPECT_TRUE(find(topology(*first_, false), "before"));
  cables_.plug(Net::kRaft, host_);
  expect_recovered({"before", "during"});
}

// Takes about 28 s: three servers with their etcd start, the others take over after the lease of 2
// s, and two calls on the islet run into their limit of 6 s.
TEST_F(PartitionTest, ALeaderOnAnIsletConfirmsNothing) {
  cables_.pull(Net::kRaft, host_);
  cables_.pull(Net::kRpc, host_);
  ASSERT_TRUE(register_soon(*rest_[1], "during"));
  const Said refused = register_beside_it("minority");
  EXPECT_NE(refused.code, 0) << refused.text;
  EXPECT_NE(read_beside_it().code, 0);
  EXPECT_EQ(get(*rest_[0], "none"), std::nullopt) << "linearizable reads go on elsewhere";
  cables_.plug(Net::kRpc, host_);
  cables_.plug(Net::kRaft, host_);
  expect_recovered({"before", "during"});
}

// It can do everything but be heard: nobody reads what is old, and it does not lead for ever.
TEST_F(PartitionTest, ALeaderThatOnlyItsEtcdHearsHandsOver) {
  // Takes about 15 s: three servers with their etcd start, and the leader that nobody hears must
  // first hand over before the others take a write.
  cables_.pull(Net::kRpc, host_);
  const Said done = register_beside_it("beside");
  EXPECT_EQ(done.code, 0) << done.text;
  for (Musterd* each : rest_) EXPECT_TRUE(find(topology(*each), "beside")) << each->id();
  ASSERT_TRUE(register_soon(*rest_[0], "during"));
  const Said read = read_beside_it();
  EXPECT_TRUE(read.code == 0 && read.names("during")) << read.text;
  cables_.plug(Net::kRpc, host_);
  expect_recovered({"before", "beside", "during"});
}

}  // namespace partition_test
}  // namespace muster::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (const muster::Status entered = muster::testing::Cables::enter(); !entered) {
    std::cerr << "SKIPPED, nothing was tested: " << entered.error().message << "\n";
    return 77;
  }
  return RUN_ALL_TESTS();
}
