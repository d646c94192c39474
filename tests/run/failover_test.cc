// What default settings promise a user whose node is lost or taken down: where the work goes, and
// by when. How fast it is in figures, bench_failover says.
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <string>

#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/run/evidence.h"
#include "tests/run/judge.h"
#include "tests/run/run_node.h"

namespace muster {
namespace failover_test {

class DefaultFailoverTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<RunNode> start(const std::string& id) {
    RunSpec spec;
    spec.arbiter = judge_->url();
    spec.name = "work";
    spec.id = id;
    spec.command = {RUN_WITNESS, dir_.path().string(), "daemon"};
    spec.output = (dir_.path() / (id + ".out")).string();
    return std::make_unique<RunNode>(std::move(spec));
  }
  /// When work started that was started after `since`.
  std::optional<MonoTime> next_start(MonoTime since) {
    std::optional<MonoTime> start;
    EXPECT_TRUE(eventually([&] { return (start = evidence_.started_after(since)).has_value(); }));
    return start;
  }
  /// A leader with its work, and a second node that has stood by for a moment.
  void two_nodes() {
    const MonoTime began = boot_now();
    first_ = start("first");
    const auto started = next_start(began);
    ASSERT_TRUE(started);
    // A single node waits for nobody.
    EXPECT_LT(*started - began, 5s);
    second_ = start("second");
    let_pass(2s);
  }

  std::unique_ptr<Judge> judge_ = (prepare_judges(GetParam()), make_judge(GetParam()));
  TempDir dir_;
  EvidenceRoom evidence_{dir_.path()};
  std::unique_ptr<RunNode> first_;
  std::unique_ptr<RunNode> second_;
};

INSTANTIATE_TEST_SUITE_P(Stores, DefaultFailoverTest, ::testing::Values("file", "etcd"),
                         [](const auto& store) { return store.param; });

// C07, C15, P05: all that the killed node ran has ended, grandchildren too, before the next one
// starts.
TEST_P(DefaultFailoverTest, WorkMovesWithinTenSecondsOfAKill) {
  // Takes about 9 s: the second node stands by for 2 s, and the default lease of 6 s must run out.
  two_nodes();
  const MonoTime killed = boot_now();
  first_->kill();
  const auto next = next_start(killed);
  ASSERT_TRUE(next);
  EXPECT_LT(*next - killed, 10s);
  EXPECT_TRUE(contradictions(evidence_.claims()).empty());
}

// C09, C15, P06, P07: the work is stopped while the lease is still held, and its release lets the
// next node start long before the lease would have ended.
TEST_P(DefaultFailoverTest, WorkMovesWithinFiveSecondsOfAGracefulStop) {
  two_nodes();
  const MonoTime asked = boot_now();
  first_->ask_to_stop();
  const auto next = next_start(asked);
  ASSERT_TRUE(next);
  EXPECT_LT(*next - asked, 5s);
  EXPECT_TRUE(contradictions(evidence_.claims()).empty());
}

// P05: a frozen parent cannot stop its work; its guardian does.
TEST_P(DefaultFailoverTest, WorkMovesWhenItsNodeIsFrozen) {
  // Takes about 9 s: the second node stands by for 2 s, and the default lease of 6 s must run out.
  two_nodes();
  const MonoTime frozen = boot_now();
  ::kill(first_->pid(), SIGSTOP);
  const auto next = next_start(frozen);
  ::kill(first_->pid(), SIGCONT);
  ASSERT_TRUE(next);
  EXPECT_TRUE(contradictions(evidence_.claims()).empty());
}

}  // namespace failover_test
}  // namespace muster
