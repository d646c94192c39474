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

// R21: also one that takes the key for a wish to end cleanly, whatever its code is.
TEST_F(RunTerminalTest, ACommandThatCatchesTheInterruptKeyAndEndsIsNotRestarted) {
  OnTerminal person(muster(
      "trap 'echo caught; exit 0' INT; " + kReady + "while :; do sleep 0.02; done", "permanent"));
  EXPECT_THAT(person.until("ready"), testing::HasSubstr("ready"));
  person.type("\x03");
  EXPECT_THAT(person.until("caught"), testing::HasSubstr("caught"));
  EXPECT_EQ(person.finish(), 0);
}

// The key is not a wish to end where the command makes something else of it.
TEST_F(RunTerminalTest, ACommandThatGoesOnAfterTheInterruptKeyGoesOn) {
  OnTerminal person(muster("trap 'echo caught' INT; " + kReady +
                           "until read word; do :; done; echo got:$word; exit 3"));
  EXPECT_THAT(person.until("ready"), testing::HasSubstr("ready"));
  person.type("\x03");
  EXPECT_THAT(person.until("caught"), testing::HasSubstr("caught"));
  person.type("hello\n");
  EXPECT_THAT(person.until("got:hello"), testing::HasSubstr("got:hello"));
  EXPECT_EQ(person.finish(), 3);
}

// R23: a job that asked for input in the background was stopped for that, and a shell that brings
// it to the front wakes muster at most.
TEST_F(RunTerminalTest, AJobThatIsBroughtToTheFrontReadsWhatIsTyped) {
  std::string line;
  for (const std::string& word : muster("echo up; read word; echo got:$word")) {
    line += "'";
    for (const char each : word) line += each == '\'' ? std::string("'\\''") : std::string(1, each);
    line += "' ";
  }
  OnTerminal person({"bash", "--norc", "--noprofile", "-i"});
  person.type(line + "&\n");
  EXPECT_THAT(person.until("\nup"), testing::HasSubstr("up"));
  // Stopped, since it reads from a terminal that is not its own.
  person.type("until ps -o stat= -C sh | grep -q T; do sleep 0.05; done; echo is\\ stopped\n");
  EXPECT_THAT(person.until("is stopped"), testing::HasSubstr("is stopped"));
  person.type("fg\n");
  person.type("hello\n");
  EXPECT_THAT(person.until("got:hello"), testing::HasSubstr("got:hello"));
  person.type("exit 4\n");
  EXPECT_EQ(person.finish(), 4);
}

}  // namespace run_terminal_test
}  // namespace muster
