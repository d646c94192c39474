// What signals mean to `muster run`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/run_program.h"

namespace muster {
namespace run_stop_test {

class RunStopTest : public testing::Test {
 protected:
  TempDir dir_;
  std::string store_ = "file://" + (dir_.path() / "store").string();
};

// timeout(1) signals its child, and then the group that the child is in.
TEST_F(RunStopTest, ATermThatComesTwiceAtOnceLeavesTheGrace) {
  Runner runner(
      store_, "n1", {"--lease-timeout", "60s", "--grace", "10s"},
      {"sh", "-c",
       "trap '' INT; trap 'sleep 1; exit 5' TERM; echo up >&2; while :; do sleep 0.05; done"});
  ASSERT_TRUE(runner.says("up"));
  // Two of one kind that are pending would be one.
  runner.signal(SIGINT);
  EXPECT_EQ(runner.terminate(), 5) << "the command ended by itself";
}

TEST_F(RunStopTest, SeveralCommandsStopInReverseOrderWhateverTheSignal) {
  const std::string log = dir_.path() / "log";
  const std::string file = dir_.path() / "commands.yaml";
  std::string text = "commands:\n";
  for (const char* name : {"a", "b", "c"}) {
    text += std::string("  - name: ") + name + "\n    command: [sh, -c, \"trap 'sleep 0.2; echo " +
            name + " >> " + log + "; exit 0' TERM INT; echo up-" + name +
            " >&2; while :; do sleep 0.02; done\"]\n";
  }
  std::ofstream(file) << text;
  Runner runner(store_, "n1", {"--lease-timeout", "60s", "--commands", file}, {});
  ASSERT_TRUE(runner.says("up-c"));
  runner.signal(SIGINT);
  (void)runner.finish();
  std::ifstream order(log);
  std::string words;
  for (std::string word; order >> word;) words += word;
  EXPECT_EQ(words, "cba");
}

}  // namespace run_stop_test
}  // namespace muster
