#include "server/leader/leader_term.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "core/membership/testing.h"
#include "platform/event_loop.h"
#include "store/memory/memory_store.h"

namespace muster::server {
namespace {

using membership::NodeState;

class LeaderTermTest : public ::testing::Test {
 protected:
  void SetUp() override {
    bool open = false;
    replica_.open([&](const Status& status) { open = status.ok(); });
    ASSERT_TRUE(until([&] { return open; }));
  }
  static LeaderTerm::Options options() {
    LeaderTerm::Options options;
    options.id = "s1";
    options.membership.heartbeat_batch_interval = 20ms;
    options.incarnation = Incarnation("run");
    return options;
  }
  static rlog::Options log_options() {
    rlog::Options options;
    options.create = true;
    return options;
  }
  bool until(const std::function<bool()>& holds) {
    const MonoTime end = loop_.now() + 20s;
    while (!holds() && loop_.now() < end) loop_.run_until(loop_.now() + 1ms);
    return holds();
  }
  /// Lets everything happen that has been posted.
  void turn() {
    bool turned = false;
    loop_.post([&] { turned = true; });
    ASSERT_TRUE(until([&] { return turned; }));
  }
  void begin(std::uint64_t epoch) {
    failed_.clear();
    guard_ = std::make_shared<LeaseGuard>(loop_, Epoch(epoch), loop_.now() + 60s);
    term_.start(
        guard_->epoch(), guard_, [] {}, [this](const std::string& why) { failed_ = why; });
    ASSERT_TRUE(until([this] { return term_.active(); }));
  }
  void end() {
    bool stopped = false;
    term_.stop(loop_.now() + 10s, [&](bool) { stopped = true; });
    ASSERT_TRUE(until([&] { return stopped; }));
  }
  void add(const std::string& node) {
    bool added = false;
    replica_.propose(cluster::ChangeTopology{membership::testing::registration(node)},
                     [&](const Result<cluster::Answer>& answer) { added = answer.ok(); });
    ASSERT_TRUE(until([&] { return added; }));
  }
  void beat(const std::string& node) {
    ASSERT_TRUE(term_.heartbeat(NodeId(node), membership::testing::spec(node).generation,
                                NodeState::kActive));
  }
  NodeState state(const std::string& node) {
    return membership::testing::state(replica_.state().topology(), node);
  }

  EventLoop loop_;
  MemoryStore store_{loop_};
  Replica replica_{log_options(),
                   {loop_, store_, Random(1)},
                   {.applied = [](const std::vector<membership::Event>&) {},
                    .reloaded = [] {},
                    .deposed = [](Epoch, const std::string&) {},
                    .sealed = [](const rlog::Seal&) {},
                    .stopped = [](const Error&) {}}};
  LeaderTerm term_{loop_, replica_, options(), [](Epoch) {}};
  std::shared_ptr<LeaseGuard> guard_;
  std::string failed_;
};

TEST_F(LeaderTermTest, AHeartbeatOfATermThatLostItsLeaseIsNotWrittenInALaterOne) {
  begin(1);
  add("a");
  add("b");
  beat("a");
  guard_->close();
  term_.deadline_moved(loop_.now());
  ASSERT_TRUE(until([this] { return !failed_.empty(); }));
  turn();
  end();
  begin(2);
  beat("b");
  ASSERT_TRUE(until([this] { return state("b") == NodeState::kActive; }));
  EXPECT_EQ(state("a"), NodeState::kJoining) << "it was heard before, and not since";
  end();
}

TEST_F(LeaderTermTest, WordOfTheEndOfAnEarlierTermDoesNotEndThisOne) {
  begin(1);
  end();
  begin(2);
  term_.deposed(Epoch(1), "late");
  EXPECT_EQ(failed_, "");
  term_.deposed(Epoch(2), "in time");
  EXPECT_EQ(failed_, "in time");
  end();
}

}  // namespace
}  // namespace muster::server
