// The hooks of `muster run`, and what a command leaves behind or inherits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/run_program.h"

namespace muster {
namespace run_hooks_test {

using testing::HasSubstr;
using testing::Not;

class RunHooksTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return dir_.path() / name; }
  [[nodiscard]] Outcome ask(const std::string& command) const {
    return run_muster({command, "--arbiter", store_, "--name", "job", "--json"});
  }
  [[nodiscard]] static bool alive(const std::string& pid) {
    return !pid.empty() && ::kill(std::stoi(pid), 0) == 0;
  }

  TempDir dir_;
  std::string store_ = "file://" + (dir_.path() / "store").string();
};

// R20: an address that one hook takes away and the other one takes must be there in the end. Takes
// about 5 s: the hook must outlast the next term's beginning.
TEST_F(RunHooksTest, TheNextTermWaitsForTheHookOfTheOneBefore) {
  const std::string log = path("log");
  // With a variable of another run around it, which must not be seen beside ours.
  Runner only(
      store_, "n1",
      {"--lease-timeout", "1s", "--on-gain", "echo gain $MUSTER_EPOCH >> " + log, "--on-loss-exec",
       "tr '\\0' '\\n' < /proc/$$/environ | grep ^MUSTER_EPOCH= > " + log +
           "-$MUSTER_EPOCH; echo losing $MUSTER_EPOCH >> " + log +
           "; sleep 2; echo lost $MUSTER_EPOCH >> " + log},
      {"sh", "-c", "echo work $MUSTER_EPOCH >> " + log + "; exec sleep 1000"}, {"MUSTER_EPOCH=99"});
  for (auto each = only.next("child_started"); each["child"] != "sh";) {
    ASSERT_FALSE(each.is_null());
    each = only.next("child_started");
  }
  EXPECT_EQ(ask("step-down").code, 0);
  EXPECT_EQ(only.next("became_leader")["epoch"], 2);
  EXPECT_THAT(content(log), Not(HasSubstr("lost 1"))) << "it leads while the hook runs";
  for (auto each = only.next("child_started"); each["child"] != "sh";) {
    ASSERT_FALSE(each.is_null());
    each = only.next("child_started");
  }
  EXPECT_EQ(only.terminate(), 128 + SIGTERM);
  EXPECT_EQ(content(log), "gain 1\nwork 1\nlosing 1\nlost 1\ngain 2\nwork 2\nlosing 2\nlost 2\n");
  EXPECT_EQ(content(log + "-1"), "MUSTER_EPOCH=1\n");
}

// A term that ends while its work waits for a hook has started nothing.
TEST_F(RunHooksTest, ATermMayEndBeforeTheHookOfTheOneBefore) {
  const std::string log = path("log");
  Runner only(
      store_, "n1",
      {"--lease-timeout", "1s", "--on-loss-exec", "sleep 3; echo lost $MUSTER_EPOCH >> " + log},
      {"sh", "-c", "echo work $MUSTER_EPOCH >> " + log + "; exec sleep 1000"});
  ASSERT_FALSE(only.next("child_started").is_null());
  EXPECT_EQ(ask("step-down").code, 0);
  EXPECT_EQ(only.next("became_leader")["epoch"], 2);
  EXPECT_EQ(only.terminate(), 128 + SIGTERM);
  EXPECT_EQ(content(log), "work 1\nlost 1\nlost 2\n");
}

// R23: in a session of its own, it is not reached by what ends the hook's group. Takes 10 s, which
// is what a hook is given.
TEST_F(RunHooksTest, AHookThatTakesTooLongIsKilledWithWhatItHasStarted) {
  const std::string pid = path("pid");
  const Outcome outcome = run_muster(
      {"run", "--arbiter", store_, "--name", "job", "--on-loss-exec",
       "setsid sh -c 'echo $$ > " + pid + "; exec sleep 1000' & sleep 1000", "--", "true"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("on-loss-exec took longer than 10s and was killed"));
  EXPECT_FALSE(alive(content(pid)));
}

// R21: a daemon that goes to the background is ended, and that is said.
TEST_F(RunHooksTest, ACommandThatGoesToTheBackgroundIsTold) {
  const Outcome outcome = run_job(store_, {}, {"sh", "-c", "setsid sleep 1000 & exit 0"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("running in the background"));
  EXPECT_THAT(outcome.err, HasSubstr("start the program in the foreground"));
  EXPECT_THAT(run_job(store_, {}, {"true"}).err, Not(HasSubstr("background")));
}

// R23: it would wait for the lease of the one that it runs under, for ever.
TEST_F(RunHooksTest, OneInsideOfAnotherNeedsANameOfItsOwn) {
  const std::string inner = std::string(MUSTER_PROGRAM) + " run --arbiter " + store_;
  const Outcome same = run_job(store_, {}, {"sh", "-c", inner + " -- true"});
  EXPECT_EQ(same.code, 64);
  EXPECT_THAT(same.err, HasSubstr("this muster run runs under another one with the name job"));
  EXPECT_EQ(run_job(store_, {}, {"sh", "-c", inner + " --name other -- sh -c 'exit 6'"}).code, 6);
}

// R23: a file without an end is not read to it.
TEST_F(RunHooksTest, AFileOfCommandsWithoutAnEndIsRefused) {
  const Outcome outcome = run_job(store_, {"--commands", "/dev/zero"}, {});
  EXPECT_EQ(outcome.code, 64);
  EXPECT_THAT(outcome.err, HasSubstr("/dev/zero is larger than 1048576 bytes"));
}

// R23: what the machine refuses is one sentence, and no abort.
TEST_F(RunHooksTest, AMachineThatGivesNoMemoryIsToldInOneSentence) {
  int told = 0;
  // Between too little for its libraries and enough. Whether it gets so far as to ask the store,
  // and waits for it in vain, is not judged here.
  for (int megabytes = 44; megabytes < 80; megabytes += 6) {
    ChildProcess child(
        {"sh", "-c",
         "ulimit -c 0; ulimit -v " + std::to_string(megabytes * 1024) + "; exec \"$@\" 2>&1", "sh",
         MUSTER_PROGRAM, "run", "--wait", "300ms", "--arbiter", store_, "--name", "job", "--",
         "true"});
    std::string all;
    for (std::string line = child.read_line(); !line.empty(); line = child.read_line()) all += line;
    const int code = child.finish();
    EXPECT_NE(code, 128 + SIGABRT) << megabytes << " MB: " << all;
    EXPECT_THAT(all, Not(HasSubstr("terminate called"))) << megabytes << " MB";
    if (code == 69) ++told;
  }
  EXPECT_GT(told, 0);
}

TEST_F(RunHooksTest, TheCheckAnswersWithoutAStore) {
  const Outcome outcome = run_muster({"run", "--check"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Protected by "));
  EXPECT_THAT(outcome.out, HasSubstr("Not protected:"));
  EXPECT_THAT(outcome.out, HasSubstr("one of them is frozen and the other killed"));
  const auto json = run_muster({"run", "--check", "--json"}).json();
  EXPECT_TRUE(json["protection"] == "cgroup" || json["protection"] == "process-table");
  EXPECT_FALSE(json["not_protected"].empty());
  // R66: it asked for --arbiter and --name before it looked.
  const Outcome absent = run_muster({"run", "--check", "--", "no-such-command-anywhere"});
  EXPECT_EQ(absent.code, 64);
  EXPECT_THAT(absent.err, HasSubstr("no-such-command-anywhere: command not found"));
  EXPECT_EQ(run_muster({"run", "--check", "--", "true"}).code, 0);
}

}  // namespace run_hooks_test
}  // namespace muster
