// How `muster run` waits before it leads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/run_program.h"

namespace muster {
namespace run_start_test {

using testing::HasSubstr;

class RunStartTest : public testing::Test {
 protected:
  TempDir dir_;
  std::filesystem::path late_ = dir_.path() / "late";
  std::string late_store_ = "file://" + (late_ / "store").string();
  std::string store_ = "file://" + (dir_.path() / "store").string();
};

// A disk that is mounted after the start of the service.
TEST_F(RunStartTest, ADirectoryThatComesLateIsWaitedFor) {
  Runner runner(late_store_, "n1", {"--wait", "60s"}, {"sh", "-c", "echo up >&2; sleep 1000"});
  const auto trouble = runner.next("trouble");
  EXPECT_THAT(trouble.dump(), HasSubstr("its parent directory does not exist"));
  std::filesystem::create_directory(late_);
  EXPECT_TRUE(runner.says("up"));
  EXPECT_EQ(runner.terminate(), 128 + SIGTERM);
}

TEST_F(RunStartTest, ADirectoryThatDoesNotComeIsExitCode72) {
  const MonoTime began = boot_now();
  const Outcome waited = run_job(late_store_, {"--wait", "1500ms"}, {"echo", "ran"});
  EXPECT_EQ(waited.code, 72);
  EXPECT_GE(boot_now() - began, 1500ms);
  EXPECT_THAT(waited.err, HasSubstr("the store does not answer after 1500ms"));
  EXPECT_EQ(run_job(late_store_, {"--try"}, {"echo", "ran"}).code, 72);
  Runner patient(late_store_, "n1", {}, {"true"});
  ASSERT_FALSE(patient.next("trouble").is_null());
  EXPECT_EQ(patient.terminate(), 128 + SIGTERM);
}

TEST_F(RunStartTest, TheWaitCountsFromTheStart) {
  const Outcome waited =
      run_job(store_, {"--startup-jitter-min", "60s", "--wait", "300ms"}, {"echo", "ran"});
  EXPECT_EQ(waited.code, 70) << waited.err;
  EXPECT_EQ(waited.out, "");
}

TEST_F(RunStartTest, AStoreThatWasHardlyAskedIsNotCalledSilent) {
  const Outcome waited = run_job(store_, {"--wait", "0s"}, {"echo", "ran"});
  EXPECT_EQ(waited.code, 70) << waited.err;
  EXPECT_THAT(waited.err, HasSubstr("not leading job after 0s"));
}

}  // namespace run_start_test
}  // namespace muster
