// What protects a command where not everything is seen or may be signalled: real cgroups, a /proc
// that hides processes, programs with capabilities, other users. Takes root; without, it says so
// and counts as skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "platform/control_group.h"
#include "tests/run/confined_scene.h"

namespace muster {
namespace confined_test {

using ::testing::HasSubstr;
using testing::own_cgroup;

const char* const kHidden = "mount -t proc -o hidepid=2 proc /proc";

struct ConfinedTest : testing::ConfinedScene {
  /// A shell with a file capability, which hides it from its own user where /proc does that.
  [[nodiscard]] std::string capable_shell() const {
    const std::string path = copy("/bin/sh", "capable");
    EXPECT_EQ(run_program({"setcap", "cap_net_raw+ep", path}), 0);
    return path;
  }
  /// A program that runs others as root, whichever user starts it.
  [[nodiscard]] std::string as_root() const {
    const std::string path = copy("/usr/bin/setpriv", "as-root");
    EXPECT_EQ(::chmod(path.c_str(), 04755), 0);
    return path + " --reuid=0 ";
  }
};

// R16: the guardian cannot see it in /proc, and its session and group are its own.
TEST_F(ConfinedTest, AHiddenProcessIsAskedAndKilledInTime) {
  const Place place{.prepare = kHidden, .as_nobody = true};
  const auto answer = check(place);
  EXPECT_EQ(answer["protection"], "process-table");
  EXPECT_EQ(answer["hidden_processes"], true);

  const std::string shell = capable_shell();
  const auto node = start(
      place, "setsid " + shell + " -c 'trap \"echo > " + path_ + "/asked\" TERM; echo > " + path_ +
                 "/up; while :; do sleep 0.05; done' 9" + word_ + " & exec sleep 9" + word_);
  ASSERT_FALSE(next(*node, "child_started").is_null());
  ASSERT_TRUE(until([this] { return exists("up"); }));
  const MonoTime asked = boot_now();
  ::kill(node->pid(), SIGTERM);
  EXPECT_FALSE(next(*node, "exit").is_null());
  EXPECT_EQ(node->finish(), 128 + SIGTERM);
  EXPECT_LT(boot_now() - asked, 4s) << "before its lease could have ended";
  EXPECT_TRUE(exists("asked"));
  EXPECT_TRUE(living().empty()) << who();
}

// R16, G1: nobody renews, as when muster is frozen, and its guardian does it alone.
TEST_F(ConfinedTest, AHiddenProcessDoesNotOutliveTheLeaseOfAFrozenMuster) {
  const std::string shell = capable_shell();
  const auto node =
      start({.prepare = kHidden, .as_nobody = true},
            "setsid " + shell + " -c 'trap \"\" TERM; echo > " + path_ +
                "/up; while :; do sleep 0.05; done' 9" + word_ + " & exec sleep 9" + word_);
  ASSERT_FALSE(next(*node, "child_started").is_null());
  ASSERT_TRUE(until([this] { return exists("up"); }));
  ::kill(node->pid(), SIGSTOP);
  const MonoTime frozen = boot_now();
  EXPECT_TRUE(until([&] { return living() == std::vector{node->pid()}; })) << who();
  EXPECT_LT(boot_now() - frozen, 4s);
  node->kill();
}

// R19: what left its session and its environment, as cron starts its jobs, has no other trace than
// that it is below this muster since its guardian has died.
TEST_F(ConfinedTest, WhatIsCalledKilledAfterAGuardianDiedIsKilled) {
  const auto node =
      start({.as_nobody = true}, "(env -i setsid sleep 9" + word_ + " &) ; exec sleep 9" + word_);
  const auto started = next(*node, "child_started");
  ASSERT_FALSE(started.is_null());
  // Muster, the guardian and two of the command.
  ASSERT_TRUE(until([this] { return living().size() == 4; })) << who();
  ASSERT_EQ(::kill(parent_of(started["pid"]), SIGKILL), 0);
  EXPECT_THAT(next(*node, "child_ended")["how"].get<std::string>(),
              HasSubstr("every process of the command was killed"));
  EXPECT_EQ(next(*node, "exit")["code"], 73);
  EXPECT_EQ(node->finish(), 73);
  EXPECT_TRUE(living().empty()) << who();
}

// A delegated cgroup is enough without being root, also against what root runs.
TEST_F(ConfinedTest, ADelegatedCgroupEndsWhatTheUserMayNotSignal) {
  delegate();
  const Place place{.as_nobody = true};
  const auto answer = check(place);
  EXPECT_EQ(answer["protection"], "cgroup") << answer;
  EXPECT_EQ(answer["cgroup"], cgroup_);
  const auto node =
      start(place, "setsid " + as_root() + "sleep 9" + word_ + " & exec sleep 9" + word_);
  ASSERT_FALSE(next(*node, "child_started").is_null());
  ASSERT_TRUE(until([this] { return living().size() == 4; })) << who();
  ::kill(node->pid(), SIGTERM);
  EXPECT_FALSE(next(*node, "exit").is_null());
  EXPECT_EQ(node->finish(), 128 + SIGTERM);
  EXPECT_TRUE(living().empty()) << who();
}

// R18: the kernel does not end a command that has changed its user. The next muster does.
TEST_F(ConfinedTest, WhatIsLeftOfAKilledMusterIsEndedByTheNext) {
  const auto node =
      start({}, "(setsid sleep 9" + word_ +
                    " &) ; exec setpriv --reuid=65534 --clear-groups sleep 9" + word_);
  const auto started = next(*node, "child_started");
  ASSERT_FALSE(started.is_null());
  ASSERT_TRUE(until([this] { return living().size() == 4; })) << who();
  const std::string command = "/proc/" + std::to_string(started["pid"].get<pid_t>());
  // Before that the kernel would still end it with its guardian.
  ASSERT_TRUE(until([&] {
    struct stat owner {};
    return ::stat(command.c_str(), &owner) == 0 && owner.st_uid == 65534;
  }));
  const pid_t guardian = parent_of(started["pid"]);
  ::kill(node->pid(), SIGSTOP);
  ::kill(guardian, SIGKILL);
  node->kill();
  const std::vector<pid_t> left = living();
  ASSERT_EQ(left.size(), 2u) << "both go on: " << who();
  EXPECT_FALSE(groups_left().empty());

  const auto second = start({}, "exit 0");
  EXPECT_FALSE(next(*second, "became_leader").is_null());
  for (const pid_t pid : left) EXPECT_NE(::kill(pid, 0), 0) << "while another one leads: " << pid;
  EXPECT_EQ(next(*second, "exit")["code"], 0);
  (void)second->finish();
  EXPECT_TRUE(living().empty()) << who();
}

// R18: not only by one that starts, but also by one that had been standing by.
TEST_F(ConfinedTest, WhatIsLeftOfAKilledMusterIsEndedByAStandby) {
  const auto node = start({}, "exec setpriv --reuid=65534 --clear-groups sleep 9" + word_);
  const auto started = next(*node, "child_started");
  ASSERT_FALSE(started.is_null());
  const std::string command = "/proc/" + std::to_string(started["pid"].get<pid_t>());
  ASSERT_TRUE(until([&] {
    struct stat owner {};
    return ::stat(command.c_str(), &owner) == 0 && owner.st_uid == 65534;
  }));
  const auto standby =
      start({}, "case $(ps -o stat= -p " + std::to_string(started["pid"].get<pid_t>()) +
                    ") in \"\" | Z*) exit 0 ;; *) exit 9 ;; esac");
  ASSERT_FALSE(next(*standby, "leader_changed").is_null());
  ::kill(node->pid(), SIGSTOP);
  ::kill(parent_of(started["pid"]), SIGKILL);
  node->kill();
  ASSERT_EQ(::kill(started["pid"].get<pid_t>(), 0), 0) << "it goes on";
  EXPECT_EQ(next(*standby, "exit")["code"], 0) << "while another one's command runs";
  (void)standby->finish();
}

// R64: it ran beside the next term for as long as its muster stayed stopped.
TEST_F(ConfinedTest, WhatAStoppedMusterAndAKilledGuardianLeaveIsEndedByAStandby) {
  const auto node = start({}, "(setsid sleep 9" + word_ + " &) ; exec sleep 9" + word_);
  const auto started = next(*node, "child_started");
  ASSERT_FALSE(started.is_null());
  ASSERT_TRUE(until([this] { return living().size() == 4; })) << who();
  const pid_t guardian = parent_of(started["pid"]);
  std::vector<pid_t> command = living();
  std::erase(command, guardian);
  std::erase(command, node->pid());
  std::string all;
  for (const pid_t pid : command) all += std::to_string(pid) + " ";
  const auto standby = start({}, "for pid in " + all +
                                     "; do case $(ps -o stat= -p $pid) in \"\" | Z*) ;; *) exit 9 "
                                     ";; esac; done; exit 0");
  ASSERT_FALSE(next(*standby, "leader_changed").is_null());
  ::kill(node->pid(), SIGSTOP);
  ::kill(guardian, SIGKILL);
  EXPECT_EQ(next(*standby, "exit")["code"], 0) << "while another one's command runs: " << who();
  (void)standby->finish();
  ::kill(node->pid(), SIGCONT);
  EXPECT_EQ(node->finish(), 73) << "it knows that its guardian has died";
  EXPECT_TRUE(until([this] { return living().empty(); })) << who();
}

// A cgroup that someone guards is not touched by others, and one inside of another ends with it.
TEST_F(ConfinedTest, NestedOnesEndWithTheOuterOne) {
  const std::string inner = std::string(MUSTER_PROGRAM) + " run --arbiter file://" + path_ +
                            "/inner --name inner -- sleep 9" + word_;
  const auto outer = start({}, "exec " + inner);
  ASSERT_FALSE(next(*outer, "child_started").is_null());
  // Two of muster, two guardians, and the innermost command.
  ASSERT_TRUE(until([this] { return living().size() == 5; })) << who();
  const auto beside = check({});
  EXPECT_EQ(beside["protection"], "cgroup");
  EXPECT_EQ(living().size(), 5u);
  // The outer guardian kills at once what is below, guardians included.
  ::kill(outer->pid(), SIGKILL);
  (void)outer->finish();
  EXPECT_TRUE(until([this] { return living().empty() && groups_left().empty(); })) << who();
}

TEST_F(ConfinedTest, TheCheckNamesWhatIsInTheWay) {
  const std::string mounted = own_cgroup();
  const auto read_only = check({.prepare = "mount --bind " + mounted + " " + mounted +
                                           "; mount -o remount,bind,ro " + mounted});
  EXPECT_EQ(read_only["protection"], "process-table");
  EXPECT_THAT(read_only["reason"].get<std::string>(), HasSubstr("Read-only file system"));

  const auto absent = check({.prepare = "umount -l " + mounted});
  EXPECT_EQ(absent["protection"], "process-table");
  EXPECT_THAT(absent["reason"].get<std::string>(), HasSubstr("no cgroup v2 is mounted"));

  const auto not_ours = check({.as_nobody = true});
  EXPECT_EQ(not_ours["protection"], "process-table");
  EXPECT_THAT(not_ours["reason"].get<std::string>(), HasSubstr("Permission denied"));
  EXPECT_THAT(not_ours["not_protected"].dump(), HasSubstr("may not signal them"));

  // Anyone who may make a cgroup but not move a process there, as in a session of systemd.
  ASSERT_EQ(::chown(cgroup_.c_str(), 65534, 65534), 0);
  const auto half = check({.as_nobody = true});
  EXPECT_EQ(half["protection"], "process-table");
  EXPECT_THAT(half["reason"].get<std::string>(), HasSubstr("no process can be moved"));
  EXPECT_TRUE(living().empty());
}

// R23: what muster cannot work without is one sentence, and no abort.
TEST_F(ConfinedTest, AWorkerWithoutProcSaysWhatItMisses) {
  ChildProcess child({"perl", "-e", "alarm 60; exec @ARGV", "unshare", "-m", "--propagation",
                      "private", "sh", "-c", "umount -l /proc; exec \"$@\" 2>&1 >/dev/null", "sh",
                      MUSTER_PROGRAM, "worker", "--arbiter", store_});
  EXPECT_THAT(child.read_line(), HasSubstr("journal: /proc is not mounted here"));
  child.kill();
}

TEST_F(ConfinedTest, WithoutProcThereIsOneSentence) {
  ChildProcess child(
      muster({.prepare = "umount -l /proc"}, {"--arbiter", store_, "--name", "job", "--", "true"}));
  EXPECT_THAT(child.read_line(), HasSubstr("/proc is not mounted"));
  EXPECT_EQ(child.finish(), 69);
}

}  // namespace confined_test
}  // namespace muster

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto cgroup = muster::try_control_group();
  std::string missing;
  if (::geteuid() != 0)
    missing = "it takes root";
  else if (!cgroup)
    missing = cgroup.error().message;
  else if (muster::run_program({"unshare", "-m", "true"}) != 0)
    missing = "no mount namespaces";
  if (missing.empty()) return RUN_ALL_TESTS();
  std::printf("NOT RUN: what protects commands in cgroups and under hidepid (%s)\n",
              missing.c_str());
  return 77;
}
