// What a look at the processes of a machine can miss or mistake: a process whose main thread has
// ended while others go on, and chains of processes that are never there for long.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "candidate/guarded_command_test_scene.h"

namespace muster {
namespace hard_to_end_test {

/// A hunter that a sanitizer slows down is outrun by the chains, until these end by themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(_GLIBCXX_TSAN)
constexpr bool kSlowed = true;
#else
constexpr bool kSlowed = false;
#endif

struct HardToEndTest : testing::GuardedCommandTest {
  // Long enough for a busy machine, so that who is called unkillable was not caught.
  HardToEndTest() { options.kill_margin = 4s; }

  /// What is hard to end, as tests/run/guard_subject.cc tells it.
  [[nodiscard]] Command subject(const std::string& work, const std::string& place) const {
    Command command = shell("");
    command.argv = {program_directory() + "/guard_subject", work, place, evidence};
    std::filesystem::remove(evidence);
    return command;
  }
  /// How much the subject has done.
  [[nodiscard]] std::size_t done() const {
    return std::filesystem::exists(evidence) ? std::filesystem::file_size(evidence) : 0;
  }
  /// Nothing of the subject goes on, and it has not ended by itself.
  void expect_ended() {
    // A hunt without the guardian may take long on a busy machine; it counts that it ends.
    EXPECT_TRUE(heard.lost || heard.unkillable == 0);
    EXPECT_TRUE(living().empty());
    const std::size_t at_the_end = done();
    loop.run_until(loop.now() + 50ms);
    EXPECT_EQ(done(), at_the_end);
    std::ifstream file(evidence);
    const std::string all(std::istreambuf_iterator<char>(file), {});
    EXPECT_TRUE((heard.lost && kSlowed) || all.find('E') == std::string::npos);
    std::filesystem::remove(evidence);
  }

  const std::string evidence = folder + "muster-subject-9" + word_;
};

// G1: the kernel shows it as ended, which holds for its main thread only.
TEST_F(HardToEndTest, ACommandWhoseMainThreadHasEndedHearsTerm) {
  options.grace = 60s;
  auto guarded = start(subject("threads", "here"));
  ASSERT_TRUE(until([this] {
    const auto entry = heard.pid == 0 ? std::nullopt : look_at(heard.pid);
    return entry && entry->state == 'Z' && done() > 0;
  }));
  EXPECT_FALSE(look_at(heard.pid)->ended());
  EXPECT_FALSE(heard.over());
  guarded->terminate();
  ASSERT_TRUE(over());
  ASSERT_TRUE(heard.gone);
  EXPECT_EQ(*heard.gone, (ExitStatus{7, 0}));
  expect_ended();
}

// G2: a thread that its command left behind, or a chain of forks, is not gone when one look finds
// only what has ended.
TEST_F(HardToEndTest, DoesNotOutliveItsCommand) {
  for (const char* work : {"threads", "chains", "sessions"}) {
    for (const char* place : {"group", "own-group"}) {
      SCOPED_TRACE(std::string(work) + " " + place);
      auto guarded = start(subject(work, place));
      ASSERT_TRUE(over());
      ASSERT_TRUE(heard.gone);
      EXPECT_EQ(heard.gone->code, 3);
      expect_ended();
    }
  }
}

// G1: in a process group of its own, and without a session.
TEST_F(HardToEndTest, IsKilledBesideItsCommand) {
  for (const char* work : {"threads", "chains", "sessions"}) {
    SCOPED_TRACE(work);
    auto guarded = start(subject(work, "beside"));
    ASSERT_TRUE(until([this] { return done() >= 20; }));
    guarded->kill();
    ASSERT_TRUE(over());
    EXPECT_TRUE(heard.gone);
    expect_ended();
  }
}

// G4: the guardian does nothing, so it is done from here.
TEST_F(HardToEndTest, IsNotSavedByAFrozenGuardian) {
  for (const char* work : {"threads", "chains", "sessions"}) {
    SCOPED_TRACE(work);
    auto guarded = start(subject(work, "beside"));
    ASSERT_TRUE(until([this] { return done() >= 20; }));
    ASSERT_EQ(::kill(guarded->guardian_pid(), SIGSTOP), 0);
    guarded->kill();
    EXPECT_TRUE(until([&] { return living() == std::vector{guarded->guardian_pid()}; }, 10s));
    ASSERT_EQ(::kill(guarded->guardian_pid(), SIGCONT), 0);
    ASSERT_TRUE(over());
    EXPECT_TRUE(heard.gone);
    expect_ended();
  }
}

// G4: of a process whose main thread has ended, only the other threads show the environment.
TEST_F(HardToEndTest, DoesNotOutliveItsGuardian) {
  for (const char* work : {"threads", "chains", "sessions"}) {
    SCOPED_TRACE(work);
    auto guarded = start(subject(work, "beside"));
    ASSERT_TRUE(until([this] { return done() >= 20; }));
    ASSERT_EQ(::kill(guarded->guardian_pid(), SIGKILL), 0);
    ASSERT_TRUE(over());
    EXPECT_TRUE(heard.lost);
    expect_ended();
  }
}

}  // namespace hard_to_end_test
}  // namespace muster
