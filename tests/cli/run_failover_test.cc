#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_program.h"

namespace muster {
namespace run_failover_test {

using testing::HasSubstr;

/// Several nodes on one directory, whose commands would notice if two of them ran at once.
class RunFailoverTest : public testing::Test {
 protected:
  /// Reports to a file when the one before it still runs, and then runs for ever.
  [[nodiscard]] Words witness() const {
    return {"sh", "-c",
            "cd " + dir_.path().string() +
                "; if [ -e pid ] && kill -0 $(cat pid) 2>/dev/null; then echo two >> overlap; fi; "
                "echo $$ > pid; exec sleep 1000"};
  }
  [[nodiscard]] bool overlapped() const { return std::filesystem::exists(dir_.path() / "overlap"); }
  [[nodiscard]] Outcome ask(const std::string& command, const Words& more = {}) const {
    Words words{command, "--arbiter", store_, "--name", "job", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_muster(words);
  }

  /// Stops the process, but not in the middle of a write: anyone who is stopped then keeps the lock
  /// of a file store's directory, and nobody could take over. False when that does not succeed.
  [[nodiscard]] bool freeze(const Runner& runner) const {
    for (int i = 0; i < 20; ++i) {
      runner.signal(SIGSTOP);
      if (run_muster({"probe", "--arbiter", store_, "--timeout", "200ms"}).code == 0) return true;
      runner.signal(SIGCONT);
    }
    return false;
  }

  TempDir dir_;
  std::string store_ = "file://" + (dir_.path() / "store").string();
};

// C09, P06, P07: the successor starts when the command has ended, and does not wait for the lease.
TEST_F(RunFailoverTest, TermHandsOverAfterTheCommandHasEnded) {
  const Words lease{"--lease-timeout", "30s"};
  Runner first(store_, "n1", lease, witness());
  ASSERT_FALSE(first.next("child_started").is_null());
  Runner second(store_, "n2", lease, witness());
  ASSERT_EQ(second.next("leader_changed")["current_leader"], "n1");
  EXPECT_EQ(first.terminate(), 128 + SIGTERM);
  const auto lost = first.next("lost_leadership");
  EXPECT_EQ(lost["reason"], "stopped");
  EXPECT_GE(second.next("became_leader")["epoch"], 2);
  const auto started = second.next("child_started");
  EXPECT_LT(started["time"].get<std::int64_t>() - lost["time"].get<std::int64_t>(), 5000);
  EXPECT_FALSE(overlapped());
  EXPECT_EQ(second.terminate(), 128 + SIGTERM);
}

// C07, C15, P05: kill -9 of muster ends its command, and the next node takes over.
TEST_F(RunFailoverTest, KillNineEndsTheCommandAndAnotherNodeTakesOver) {
  Runner first(store_, "n1", {}, witness());
  ASSERT_FALSE(first.next("child_started").is_null());
  Runner second(store_, "n2", {}, witness());
  ASSERT_EQ(second.next("leader_changed")["current_leader"], "n1");
  const MonoTime killed = boot_now();
  first.kill();
  EXPECT_EQ(second.next("leader_down")["cause"], "expired");
  EXPECT_GE(second.next("became_leader")["epoch"], 2);
  ASSERT_FALSE(second.next("child_started").is_null());
  EXPECT_LT(boot_now() - killed, 10s);
  EXPECT_FALSE(overlapped());
}

// Each attempt begins its observation anew, and must get to its end.
TEST_F(RunFailoverTest, ADeadHolderDoesNotTurnAwayWhoTriesOnce) {
  Runner first(store_, "n1", {}, witness());
  ASSERT_FALSE(first.next("child_started").is_null());
  first.kill();
  const Outcome tried =
      run_job(store_, {"--try", "--lease-timeout", "2s"}, {"sh", "-c", "echo $MUSTER_EPOCH"});
  EXPECT_EQ(tried.code, 0) << tried.err;
  EXPECT_EQ(tried.out, "2\n");
}

// C02, P05, P08: a frozen muster's command is ended by its guardian before anybody else begins;
// thawed, it learns that it was replaced and stands by.
TEST_F(RunFailoverTest, AFrozenMusterLosesItsCommandInTimeAndStandsByAfterwards) {
  Runner first(store_, "n1", {}, witness());
  ASSERT_FALSE(first.next("child_started").is_null());
  Runner second(store_, "n2", {}, witness());
  ASSERT_EQ(second.next("leader_changed")["current_leader"], "n1");
  ASSERT_TRUE(freeze(first));
  EXPECT_GE(second.next("became_leader")["epoch"], 2);
  ASSERT_FALSE(second.next("child_started").is_null());
  EXPECT_FALSE(overlapped());
  first.signal(SIGCONT);
  EXPECT_FALSE(first.next("lost_leadership").is_null());
  for (auto change = first.next("state_changed"); change["to"] != "standby";) {
    ASSERT_FALSE(change.is_null());
    change = first.next("state_changed");
  }
  EXPECT_EQ(
      run_muster({"leader", "--arbiter", store_, "--namespace", "job", "--json"}).json()["leader"],
      "n2");
  EXPECT_EQ(first.terminate(), 128 + SIGTERM);
}

TEST_F(RunFailoverTest, ALostLeaseIsExitCode71WhenAskedTo) {
  Runner runner(store_, "n1", {"--on-loss", "exit"}, witness());
  ASSERT_FALSE(runner.next("child_started").is_null());
  ASSERT_TRUE(freeze(runner));
  // Another may take the lease, so it has certainly ended.
  Runner second(store_, "n2", {}, witness());
  ASSERT_FALSE(second.next("child_started").is_null());
  runner.signal(SIGCONT);
  const auto exit = runner.next("exit");
  EXPECT_EQ(exit["code"], 71);
  EXPECT_THAT(exit["reason"].get<std::string>(), HasSubstr("the lease of job was lost"));
  EXPECT_EQ(runner.finish(), 71);
  EXPECT_FALSE(overlapped());
}

// The guardian ends the command while muster is frozen; thawed before the lease has ended, muster
// hears of the command's end first. That term was lost all the same, and was the only one.
TEST_F(RunFailoverTest, ALeaseThatRanShortIsALossAlsoWhenTheCommandEndsFirst) {
  const std::string runs = dir_.path() / "runs";
  Runner only(store_, "n1", {"--lease-timeout", "6s", "--once"},
              {"sh", "-c",
               "trap 'echo ended >&2; exit 0' TERM; echo run >> " + runs +
                   "; while :; do sleep 0.05; done"});
  ASSERT_FALSE(only.next("child_started").is_null());
  ASSERT_TRUE(freeze(only));
  ASSERT_TRUE(only.says("ended"));
  only.signal(SIGCONT);
  EXPECT_EQ(only.next("lost_leadership")["reason"], "expired");
  EXPECT_EQ(only.next("exit")["code"], 71);
  EXPECT_EQ(content(runs), "run\n");
}

// C08: a node that cannot start the work lets another have it.
TEST_F(RunFailoverTest, ANodeThatCannotStartTheWorkMakesRoom) {
  Runner first(store_, "n1", {"--on-failure", "recampaign", "--on-gain", "false"}, {"true"});
  EXPECT_EQ(first.next("lost_leadership")["reason"], "start-failed");
  Runner second(store_, "n2", {}, witness());
  ASSERT_FALSE(second.next("child_started").is_null());
  EXPECT_EQ(first.terminate(), 128 + SIGTERM);
}

TEST_F(RunFailoverTest, AGuardianThatIsKilledGivesNoReceiptAndIsExitCode73) {
  Runner first(store_, "n1", {"--lease-timeout", "30s"}, witness());
  const auto started = first.next("child_started");
  ASSERT_FALSE(started.is_null());
  const std::string status =
      content("/proc/" + std::to_string(started["pid"].get<int>()) + "/stat");
  // pid (name) state parent …; the name is sh or sleep.
  const int guardian = std::stoi(status.substr(status.rfind(')') + 4));
  ::kill(guardian, SIGKILL);
  // R19: nothing was late.
  const std::string trouble = first.next("trouble")["message"];
  EXPECT_THAT(trouble, testing::HasSubstr("nothing proves that all of the work of epoch 1"));
  EXPECT_EQ(first.next("exit")["code"], 73);
  EXPECT_EQ(first.finish(), 73);
  // Nothing was released: the next one waits for the lease.
  EXPECT_EQ(run_job(store_, {"--wait", "3s"}, {"true"}).code, 70);
}

TEST_F(RunFailoverTest, StepDownMovesTheWorkToAnotherNode) {
  Runner first(store_, "n1", {}, witness());
  ASSERT_FALSE(first.next("child_started").is_null());
  Runner second(store_, "n2", {}, witness());
  ASSERT_EQ(second.next("leader_changed")["current_leader"], "n1");
  const Outcome asked = ask("step-down");
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_EQ(asked.json()["command"], "step-down");
  EXPECT_EQ(asked.json()["name"], "job");
  EXPECT_EQ(asked.json()["epoch"], 1);
  EXPECT_EQ(asked.json()["acknowledgedBy"], "n1");
  EXPECT_EQ(first.next("lost_leadership")["reason"], "stepped-down");
  ASSERT_FALSE(second.next("child_started").is_null());
  EXPECT_FALSE(overlapped());
}

TEST_F(RunFailoverTest, TransferNamesTheSuccessor) {
  Runner first(store_, "n1", {}, witness());
  ASSERT_FALSE(first.next("child_started").is_null());
  Runner second(store_, "n2", {}, witness());
  ASSERT_EQ(second.next("leader_changed")["current_leader"], "n1");
  Runner third(store_, "n3", {}, witness());
  ASSERT_EQ(third.next("leader_changed")["current_leader"], "n1");
  EXPECT_EQ(ask("transfer").code, 64);
  const Outcome absent = ask("transfer", {"--to", "n9"});
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.err, HasSubstr("there is no node n9"));
  EXPECT_THAT(ask("transfer", {"--to", "n1"}).err, HasSubstr("n1 leads already"));
  Runner fourth(store_, "n4", {"--eligible", "off"}, witness());
  ASSERT_EQ(fourth.next("leader_changed")["current_leader"], "n1");
  const Outcome aside = ask("transfer", {"--to", "n4"});
  EXPECT_EQ(aside.code, 1);
  EXPECT_THAT(aside.err, HasSubstr("n4 does not campaign (ineligible)"));
  EXPECT_EQ(ask("transfer", {"--to", "n3"}).code, 0);
  EXPECT_GE(third.next("became_leader")["epoch"], 2);
  ASSERT_FALSE(third.next("child_started").is_null());
  EXPECT_FALSE(overlapped());
}

TEST_F(RunFailoverTest, APausedNodeStandsAsideUntilItIsResumed) {
  Runner only(store_, "n1", {"--lease-timeout", "1s"}, witness());
  ASSERT_FALSE(only.next("child_started").is_null());
  EXPECT_EQ(ask("pause").json()["acknowledgedBy"], "n1");
  EXPECT_EQ(only.next("lost_leadership")["reason"], "paused");
  const Outcome nobody = ask("step-down");
  EXPECT_EQ(nobody.code, 1);
  EXPECT_THAT(nobody.err, HasSubstr("nobody leads job"));
  // R63: "none is paused", although one was.
  const Outcome stranger = ask("resume", {"--id", "zz", "--wait", "100ms"});
  EXPECT_EQ(stranger.code, 1);
  EXPECT_THAT(stranger.err, HasSubstr("within 100ms: there is no node zz; muster workers"));
  EXPECT_EQ(ask("resume", {"--id", "n1"}).json()["acknowledgedBy"], "n1");
  EXPECT_GE(only.next("became_leader")["epoch"], 2);
  const Outcome idle = ask("resume", {"--wait", "100ms"});
  EXPECT_EQ(idle.code, 1);
  EXPECT_THAT(idle.err, HasSubstr("within 100ms: no node that answers is paused; the command may "
                                  "still be obeyed"));
  EXPECT_THAT(ask("resume", {"--id", "n1", "--wait", "100ms"}).err, HasSubstr("n1 is not paused"));
}

TEST_F(RunFailoverTest, OneTermIsEnoughWithOnce) {
  Runner only(store_, "n1", {"--once"}, witness());
  ASSERT_FALSE(only.next("child_started").is_null());
  EXPECT_EQ(ask("step-down").code, 0);
  const auto exit = only.next("exit");
  EXPECT_EQ(exit["code"], 71);
  EXPECT_THAT(exit["reason"].get<std::string>(), HasSubstr("was handed over"));
}

}  // namespace run_failover_test
}  // namespace muster
