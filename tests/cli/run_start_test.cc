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

// R21: a standby without the program that guards commands looked healthy until it led.
TEST_F(RunStartTest, AMissingGuardianIsFoundAtTheStart) {
  const std::filesystem::path alone = dir_.path() / "muster";
  std::filesystem::copy_file(MUSTER_PROGRAM, alone);
  const auto ends = [&](const Words& options) {
    Words words{"sh", "-c", "exec \"$@\" 2>&1", "sh", alone.string(), "run"};
    words.insert(words.end(), options.begin(), options.end());
    ChildProcess child(words);
    EXPECT_THAT(child.read_line(),
                HasSubstr("/muster-guardian: command not found; muster-guardian"));
    return child.finish();
  };
  EXPECT_EQ(ends({"--arbiter", store_, "--name", "job", "--eligible", "off", "--wait", "2s", "--",
                  "true"}),
            69);
  EXPECT_EQ(ends({"--check"}), 69);
}

// R23: a few were an abort, or a leader that could not start its command.
TEST_F(RunStartTest, TooFewOpenFilesAreToldAtTheStart) {
  const Words run{"run", "--wait", "2s", "--name", "job", "--arbiter", store_, "--", "true"};
  const Words worker{"worker", "--arbiter", store_, "--startup-jitter-max", "0s"};
  for (const int files : {5, 10, 30, 66}) {
    for (const Words& each : {run, worker}) {
      Words words{"sh", "-c",
                  "exec 2>&1; ulimit -c 0; ulimit -n " + std::to_string(files) + "; exec \"$@\"",
                  "sh"};
      for (const char* word : {"timeout", "10", MUSTER_PROGRAM}) words.emplace_back(word);
      words.insert(words.end(), each.begin(), each.end());
      ChildProcess child(words);
      EXPECT_THAT(child.read_line(),
                  HasSubstr("may open " + std::to_string(files) + " files but needs 160"));
      EXPECT_EQ(child.finish(), 69);
    }
  }
}

// R23: the signal for it ended muster without a message.
TEST_F(RunStartTest, AFileThatMayNotGrowIsAnErrorOfTheStore) {
  ChildProcess child({"sh", "-c", "ulimit -c 0; ulimit -f 0; exec \"$@\" 2>&1", "sh",
                      MUSTER_PROGRAM, "run", "--wait", "2s", "--name", "job", "--arbiter", store_,
                      "--", "true"});
  std::string all;
  for (std::string line = child.read_line(); !line.empty(); line = child.read_line()) all += line;
  EXPECT_THAT(all, HasSubstr("larger than this process may write"));
  EXPECT_EQ(child.finish(), 72);
}

// R66: one that had won a term already ended without handing it over.
TEST_F(RunStartTest, AMachineThatGivesNoThreadIsFoundBeforeItLeads) {
  int told = 0;
  // Stacks so large that one thread more or less is a step of its own.
  for (int megabytes = 64; megabytes < 320; megabytes += 32) {
    const std::string store = store_ + std::to_string(megabytes);
    ChildProcess child({"sh", "-c",
                        "ulimit -c 0; ulimit -s 65536; ulimit -v " +
                            std::to_string(megabytes * 1024) + "; exec \"$@\" 2>&1",
                        "sh", MUSTER_PROGRAM, "run", "--wait", "20s", "--name", "job", "--arbiter",
                        store, "--", "true"});
    std::string all;
    for (std::string line = child.read_line(); !line.empty(); line = child.read_line()) all += line;
    if (child.finish() != 69) continue;
    ++told;
    if (!std::filesystem::exists(store.substr(std::string_view("file://").size()))) continue;
    const auto state = run_muster({"leader", "--arbiter", store, "--name", "job", "--json"}).json();
    EXPECT_EQ(state["epoch"], 0) << megabytes << " MB: " << all;
  }
  EXPECT_GT(told, 0);
}

// R23: an address space in which malloc finds no room for the heap of a second thread, and goes on
// without one, left its error behind: each file that was absent "could not be opened".
TEST_F(RunStartTest, LittleAddressSpaceIsEnoughOrTold) {
  ChildProcess child({"sh", "-c", "ulimit -v 130000; exec \"$@\" 2>&1", "sh", MUSTER_PROGRAM, "run",
                      "--wait", "20s", "--name", "job", "--arbiter", store_, "--", "echo", "ran"});
  std::string all;
  for (std::string line = child.read_line(); !line.empty(); line = child.read_line()) all += line;
  EXPECT_THAT(all, testing::Not(HasSubstr("cannot open objects/")));
  EXPECT_THAT(child.finish(), testing::AnyOf(0, 69)) << all;
}

}  // namespace run_start_test
}  // namespace muster
