// A command in a cgroup of its own, seen from the process that guards it.
#include <gtest/gtest.h>

#include <filesystem>

#include "candidate/guarded_command_test_scene.h"
#include "platform/control_group.h"
#include "tests/run/confined_scene.h"

namespace muster {
namespace control_group_test {

struct ControlGroupTest : testing::GuardedCommandTest {
  ControlGroupTest() {
    options.control_group = true;
    options.kill_margin = 4s;  // For a busy machine.
  }

  /// What is hard to end, as tests/run/guard_subject.cc tells it.
  std::unique_ptr<GuardedCommand> start_subject(const std::string& work) {
    Command command = shell("");
    command.argv = {program_directory() + "/guard_subject", work, "beside", evidence};
    std::filesystem::remove(evidence);
    auto guarded = start(command);
    EXPECT_TRUE(until([this] { return done() >= 20; }));
    EXPECT_TRUE(guarded->has_control_group());
    return guarded;
  }
  [[nodiscard]] std::size_t done() const {
    return std::filesystem::exists(evidence) ? std::filesystem::file_size(evidence) : 0;
  }
  /// Nothing of the subject goes on.
  void expect_ended() {
    EXPECT_TRUE(living().empty());
    const std::size_t at_the_end = done();
    loop.run_until(loop.now() + 50ms);
    EXPECT_EQ(done(), at_the_end);
    std::filesystem::remove(evidence);
  }

  const std::string evidence = folder + "muster-subject-9" + word_;
};

// G5: chains of forks, sessions and threads.
TEST_F(ControlGroupTest, NothingOutrunsTheKill) {
  for (const char* work : {"threads", "chains", "sessions"}) {
    SCOPED_TRACE(work);
    auto guarded = start_subject(work);
    guarded->kill();
    ASSERT_TRUE(over());
    EXPECT_TRUE(heard.gone);
    expect_ended();
  }
}

// G4: this process alone is enough, and knows that nothing is left.
TEST_F(ControlGroupTest, NothingOutlivesAKilledGuardian) {
  for (const char* work : {"threads", "chains", "sessions"}) {
    SCOPED_TRACE(work);
    auto guarded = start_subject(work);
    ASSERT_EQ(::kill(guarded->guardian_pid(), SIGKILL), 0);
    ASSERT_TRUE(over());
    EXPECT_EQ(heard.how, GuardedCommand::Lost::kAllKilled);
    expect_ended();
  }
}

TEST_F(ControlGroupTest, AFrozenGuardianSavesNothing) {
  auto guarded = start_subject("chains");
  ASSERT_EQ(::kill(guarded->guardian_pid(), SIGSTOP), 0);
  guarded->kill();
  EXPECT_TRUE(until([&] { return living() == std::vector{guarded->guardian_pid()}; }, 10s));
  ASSERT_EQ(::kill(guarded->guardian_pid(), SIGCONT), 0);
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.gone);
  expect_ended();
}

// G5: as a PAM session does, which moves what cron starts.
TEST_F(ControlGroupTest, WhatIsMovedToAnotherCgroupIsEndedAllTheSame) {
  auto guarded = start(shell("(echo 0 > " + testing::own_cgroup() +
                             "/cgroup.procs; exec env -i setsid $ENDLESS) & $ENDLESS; :"));
  ASSERT_TRUE(until([this] { return living().size() == 4; }));
  EXPECT_TRUE(guarded->has_control_group());
  guarded->kill();
  ASSERT_TRUE(over());
  EXPECT_TRUE(heard.gone);
  EXPECT_TRUE(living().empty());
}

// Anyone who starts beside it looks for what was left over, and must not take this for it.
TEST_F(ControlGroupTest, ACgroupThatIsGuardedIsNoOrphan) {
  auto guarded = start(shell("$ENDLESS; :"));
  ASSERT_TRUE(until([this] { return living().size() == 3; }));
  EXPECT_TRUE(end_orphaned_control_groups(1s));
  loop.run_until(loop.now() + 50ms);
  EXPECT_EQ(living().size(), 3u);
  EXPECT_FALSE(heard.over());
  guarded->kill();
  ASSERT_TRUE(over());
}

}  // namespace control_group_test
}  // namespace muster
