#include "server/cluster/leader_term.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "core/membership/testing.h"
#include "platform/event_loop.h"
#include "store/memory/memory_store.h"

namespace muster::server {
namespace leader_term_test {

using membership::NodeState;

/// A store in memory whose disk can hang: what is written from then on has no known outcome when
/// its time is up. It can still be read.
class HangingStore final : public ObjectStore {
 public:
  explicit HangingStore(Loop& loop) : loop_(loop), inner_(loop) {}
  void hang() { hangs_ = true; }
  [[nodiscard]] Capabilities capabilities() const override { return inner_.capabilities(); }
  [[nodiscard]] std::string describe() const override { return inner_.describe(); }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override {
    inner_.get(std::move(key), std::move(unless), by, std::move(done));
  }
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override {
    if (hangs_) return expire(by, std::move(done));
    inner_.put(std::move(key), std::move(body), std::move(when), by, std::move(done));
  }
  void guarded_put(Key key, std::string body, Precondition when, muster::Guard guard, Deadline by,
                   Callback<Revision> done) override {
    if (hangs_) return expire(by, std::move(done));
    inner_.guarded_put(std::move(key), std::move(body), std::move(when), std::move(guard), by,
                       std::move(done));
  }
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override {
    inner_.remove(std::move(key), std::move(when), by, std::move(done));
  }
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override {
    inner_.list(std::move(prefix), std::move(from), by, std::move(done));
  }
  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override {
    return inner_.watch(std::move(prefix), std::move(cursor), std::move(on_event));
  }

 private:
  void expire(Deadline by, Callback<Revision> done) {
    loop_.at(by, [done = std::move(done)] { done({Errc::kAmbiguous, "no answer in time"}); });
  }

  Loop& loop_;
  MemoryStore inner_;
  bool hangs_ = false;
};

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
    options.membership.joining_timeout = 20ms;
    options.incarnation = Incarnation("run");
    return options;
  }
  static rlog::Options log_options() {
    rlog::Options options;
    options.create = true;
    options.request_timeout = 100ms;
    options.give_up_after = 300ms;
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
  HangingStore store_{loop_};
  ReplicatedState replica_{
      log_options(),
      {loop_, store_, Random(1)},
      {.applied = [](const std::vector<membership::Event>&) {},
       .reloaded = [] {},
       .deposed = [this](Epoch ended, const std::string& why) { term_.deposed(ended, why); },
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

TEST_F(LeaderTermTest, NothingIsHeldByWhoLeadsNoMore) {
  begin(1);
  add("a");
  ASSERT_TRUE(until([this] { return term_.held().held_by_grace == 1; })) << "it never joined";
  guard_->close();
  EXPECT_EQ(term_.held().held_by_grace, 0U);
  term_.deadline_moved(loop_.now());
  ASSERT_TRUE(until([this] { return !failed_.empty(); }));
  end();
  EXPECT_EQ(term_.held().held_by_grace, 0U);
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

// P10: a lease that is renewed all the while does not keep a leader whose writes hang.
TEST_F(LeaderTermTest, ALeaderWhoseDiskHangsStepsDownThoughItsLeaseIsGood) {
  begin(1);
  add("a");
  beat("a");
  store_.hang();
  ASSERT_TRUE(until([this] { return !failed_.empty(); }));
  EXPECT_THAT(failed_, ::testing::StartsWith("an append could not be settled"));
  EXPECT_TRUE(guard_->valid());
  EXPECT_FALSE(term_.active());
  end();
}

}  // namespace leader_term_test
}  // namespace muster::server
