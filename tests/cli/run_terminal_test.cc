#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/on_terminal.h"
#include "tests/cli/run_program.h"

namespace muster {
namespace run_terminal_test {

/// What is typed before the terminal was lent is for muster.
const std::string kReady = "until ps -o stat= -p $$ | grep -q +; do sleep 0.02; done; echo ready; ";

class RunTerminalTest : public testing::Test {
 protected:
  [[nodiscard]] Words muster(const std::string& script,
                             const std::string& restart = "temporary") const {
    return {"perl",         "-e",     "alarm 120; exec @ARGV",
            MUSTER_PROGRAM, "run",    "--arbiter",
            store_,         "--name", "job",
            "--id",         "n1",     "--restart",
            restart,        "--",     "sh",
            "-c",           script};
  }
  TempDir dir_;
  std::string store_ = "file://" + (dir_.path() / "store").string();
};

TEST_F(RunTerminalTest, TheCommandReadsWhatIsTyped) {
  OnTerminal person(muster("echo ready; read word; echo got:$word"));
  EXPECT_THAT(person.until("ready"), testing::HasSubstr("ready"));
  person.type("hello\n");
  EXPECT_THAT(person.until("got:hello"), testing::HasSubstr("got:hello"));
  EXPECT_EQ(person.finish(), 0);
}

// The command decides what Ctrl-C means; muster does not end under its hands.
TEST_F(RunTerminalTest, TheInterruptKeyIsForTheCommand) {
  OnTerminal person(
      muster("trap 'echo caught; exit 9' INT; " + kReady + "while :; do sleep 0.02; done"));
  EXPECT_THAT(person.until("ready"), testing::HasSubstr("ready"));
  person.type("\x03");
  EXPECT_THAT(person.until("caught"), testing::HasSubstr("caught"));
  EXPECT_EQ(person.finish(), 9);
}

// One that is started again and again would otherwise never end by it.
TEST_F(RunTerminalTest, TheInterruptKeyEndsACommandThatIsAlwaysRestarted) {
  OnTerminal person(muster(kReady + "while :; do sleep 0.02; done", "permanent"));
  EXPECT_THAT(person.until("ready"), testing::HasSubstr("ready"));
  person.type("\x03");
  EXPECT_EQ(person.finish(), 128 + SIGINT);
}

}  // namespace run_terminal_test
}  // namespace muster
