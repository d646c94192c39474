// Candidates on a real loop, with a store that pushes and with other threads asking.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "candidate/candidate.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "store/memory/memory_store.h"

namespace muster {
namespace candidate_loop_test {

/// Work that is ready at once and stops at once.
class PlainWork final : public LeaderWork {
 public:
  void start(Epoch, std::shared_ptr<const LeaseGuard>, std::function<void()> on_ready,
             std::function<void(std::string)>) override {
    on_ready();
  }
  void stop(MonoTime, std::function<void(bool)> done) override { done(true); }
  void deadline_moved(MonoTime) override {}
};

struct Node {
  Node(EventLoop& loop, const std::shared_ptr<MemoryObjects>& objects, const char* id,
       std::uint64_t seed)
      : store(loop, objects) {
    CandidateOptions options;
    options.node = WorkerId(id);
    options.lease = 60s;
    EXPECT_TRUE(options.validate().ok());
    candidate = std::make_unique<Candidate>(
        "default", options, Candidate::Surroundings{loop, store, work, Random(seed), {}, {}});
  }
  MemoryStore store;
  PlainWork work;
  std::unique_ptr<Candidate> candidate;
};

class CandidateLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_sink({});
    thread.run([this] {
      for (const char* id : {"a", "b"}) {
        nodes.push_back(std::make_unique<Node>(thread.loop(), objects, id, nodes.size() + 1));
        nodes.back()->candidate->start();
      }
    });
  }
  void TearDown() override {
    thread.run([this] { nodes.clear(); });
  }
  [[nodiscard]] Candidate& candidate(std::size_t i) const { return *nodes[i]->candidate; }
  [[nodiscard]] static bool leads(const Candidate& candidate) {
    return candidate.leads() && candidate.state() == CandidateState::kLeading;
  }
  /// Waits for what the loop brings about; half a minute is for a machine under load.
  static bool eventually(const std::function<bool()>& condition) {
    const MonoTime limit = boot_now() + 30s;
    while (!condition()) {
      if (boot_now() > limit) return false;
      std::this_thread::yield();
    }
    return true;
  }

  LoopThread thread;
  std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>();
  std::vector<std::unique_ptr<Node>> nodes;
};

// Where the store pushes, neither the heartbeat nor the lease stands between a stop and the next
// leader.
TEST_F(CandidateLoopTest, AGracefulHandOverIsPushedToTheSuccessor) {
  ASSERT_TRUE(eventually([&] { return leads(candidate(0)) || leads(candidate(1)); }));
  const std::size_t first = leads(candidate(0)) ? 0 : 1;
  ASSERT_TRUE(
      eventually([&] { return candidate(1 - first).current_leader() == candidate(first).node(); }));
  const MonoTime asked = boot_now();
  thread.loop().post([&] { candidate(first).stop([] {}); });
  ASSERT_TRUE(eventually([&] { return leads(candidate(1 - first)); }));
  // The goal is 100 ms, a heartbeat 12 s; what is between is for a machine under load.
  EXPECT_LT(boot_now() - asked, 4s);
  EXPECT_EQ(candidate(1 - first).epoch(), Epoch(2));
  EXPECT_FALSE(candidate(first).leads());
}

TEST_F(CandidateLoopTest, ACommandIsPushedToTheLeader) {
  ASSERT_TRUE(eventually([&] { return leads(candidate(0)) || leads(candidate(1)); }));
  const std::size_t first = leads(candidate(0)) ? 0 : 1;
  thread.loop().post([&] {
    const ControlCommand command{"id-1", ControlKind::kPause, Epoch(1), {}, {}};
    write_control(nodes[0]->store, NamespaceKeys("default").control, command,
                  thread.loop().now() + 5s, [](const Status&) {});
  });
  EXPECT_TRUE(eventually([&] { return candidate(first).state() == CandidateState::kPaused; }));
  EXPECT_TRUE(eventually([&] { return leads(candidate(1 - first)); }));
  EXPECT_EQ(candidate(first).metrics().commands, 1u);
}

TEST_F(CandidateLoopTest, AnyThreadMayAsk) {
  std::vector<std::thread> askers;
  std::atomic<bool> enough{false};
  for (int i = 0; i < 3; ++i) {
    askers.emplace_back([&] {
      while (!enough) {
        for (const std::size_t n : {0u, 1u}) {
          const Candidate& asked = candidate(n);
          (void)asked.leads();
          (void)asked.current_leader();
          (void)asked.epoch();
          (void)asked.metrics();
        }
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return leads(candidate(0)) || leads(candidate(1)); }));
  enough = true;
  for (std::thread& asker : askers) asker.join();
}

}  // namespace candidate_loop_test
}  // namespace muster
