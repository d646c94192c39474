// Workers whose directory is renamed, mounted over, linked elsewhere or emptied under them, with
// the programs and the commands with which people do that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "platform/system_clock.h"
#include "tests/cli/run_program.h"

namespace muster {
namespace elsewhere_test {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// Runs `body` in a process with mounts of its own, which go with it.
void in_private_mounts(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Without root, a user namespace of its own makes it root enough.
    const bool own = (::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
                     ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    EXPECT_TRUE(own) << std::strerror(errno);
    if (own) body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see above";
}

class ElsewhereTest : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return dir_.path() / name; }
  static void run(const Words& words) { ASSERT_EQ(run_program(words), 0) << words[0]; }
  json ask() const { return run_muster({"leader", "--arbiter", store_, "--json"}).json(); }

  /// w1 leads; then another directory comes to its path, by `move`, and w2 leads there.
  void expect_one_leader(const std::function<void()>& move) {
    // A lease after it has lost its state it may lead in the other store: long enough for the
    // second one to start.
    Worker first(store_, "w1", {}, "4s");
    ASSERT_EQ(first.next("term:began")["epoch"], 1);
    move();
    Worker second(store_, "w2");
    const json began = second.next("term:began");
    ASSERT_EQ(began["epoch"], 1) << "it is another store, and knows nothing of the first";
    const json ended = first.next("term:ended");
    ASSERT_FALSE(ended.is_null()) << "two lead";
    EXPECT_THAT(ended["reason"].get<std::string>(), AnyOf("state lost", "replaced"));
    // A heartbeat of 200 ms, and what a busy machine adds to it.
    EXPECT_LT(ended["time"].get<std::int64_t>() - began["time"].get<std::int64_t>(), 900);
    // Said on standard error, which comes by another way than the event.
    const std::string said = "another directory is at the store's path";
    for (const MonoTime end = boot_now() + 5s;
         boot_now() < end && first.errors_so_far().find(said) == std::string::npos;) {
    }
    EXPECT_THAT(first.errors_so_far(), HasSubstr(said));
    // From now on both are in one store. The first has led with that epoch itself, so it is given
    // up, a lease is waited out, and one of them leads with a higher one.
    json leads = ask();
    for (int looks = 0; looks < 500 && (leads["leader"].is_null() || leads["epoch"] <= 1);
         ++looks) {
      leads = ask();
    }
    EXPECT_GT(leads["epoch"], 1) << "above every epoch that it has seen";
    const bool second_leads = leads["leader"] == "w2";
    ASSERT_TRUE(second_leads || leads["leader"] == "w1") << leads;
    // When one goes, the other follows.
    (second_leads ? second : first).kill();
    const json last = (second_leads ? first : second).next("term:began");
    EXPECT_GT(last["epoch"], leads["epoch"]);
  }

  TempDir dir_;
  std::string store_ = "file://" + at("store");
};

TEST_F(ElsewhereTest, ADirectoryThatIsRenamedUnderItsLeaderLeavesOneLeader) {
  expect_one_leader([&] { run({"mv", at("store"), at("aside")}); });
}

TEST_F(ElsewhereTest, ALinkThatIsLedElsewhereLeavesOneLeader) {
  run({"mkdir", at("a"), at("b")});
  run({"ln", "-s", "a", at("store")});
  expect_one_leader([&] { run({"ln", "-sfn", "b", at("store")}); });
}

TEST_F(ElsewhereTest, AMountOverTheDirectoryLeavesOneLeader) {
  run({"mkdir", at("store"), at("other")});
  in_private_mounts([&] {
    expect_one_leader([&] {
      ASSERT_EQ(::mount(at("other").c_str(), at("store").c_str(), nullptr, MS_BIND, nullptr), 0);
    });
  });
}

// R62: a standby `muster run` left a leader alone that used an epoch again, and said so for ever.
TEST_F(ElsewhereTest, AReusedEpochIsEndedByAStandbyOfTheOldDirectory) {
  Runner first(store_, "n1", {"--eligible", "off"}, {"true"});
  {
    Worker old(store_, "w1", {"--name", "job"});
    ASSERT_EQ(old.next("term:began")["epoch"], 1);
    ASSERT_EQ(first.next("leader_changed")["current_leader"], "w1");
  }
  run({"mv", at("store"), at("aside")});
  Worker second(store_, "w2", {"--name", "job"});
  ASSERT_EQ(second.next("term:began")["epoch"], 1);
  EXPECT_FALSE(second.next("term:ended").is_null());
  EXPECT_GE(second.next("term:began")["epoch"], 2);
}

TEST_F(ElsewhereTest, TheCommandOfALeaderWhoseDirectoryWasRenamedEnds) {
  Runner first(store_, "n1", {}, {"sleep", "1000"});
  ASSERT_FALSE(first.next("child_started").is_null());
  run({"mv", at("store"), at("aside")});
  Runner second(store_, "n2", {}, {"sleep", "1000"});
  ASSERT_FALSE(second.next("child_started").is_null());
  EXPECT_FALSE(first.next("child_ended").is_null());
}

TEST_F(ElsewhereTest, WithoutItsLockADirectoryIsRepairedAndNobodyLosesATerm) {
  Worker leader(store_, "w1", {}, "5s");
  ASSERT_FALSE(leader.next("term:began").is_null());
  Worker standby(store_, "w2", {}, "5s");
  ASSERT_EQ(leader.next("workers:updated")["workers"], (Words{"w1", "w2"}));
  run({"rm", at("store/lock")});
  for (const MonoTime end = boot_now() + 7s; !fs::exists(at("store/lock"));) {
    ASSERT_LT(boot_now(), end) << "a lease and two seconds";
  }
  // Both write again: the one hands over, the other leads.
  EXPECT_EQ(leader.terminate(), 0);
  EXPECT_EQ(leader.next("term:ended")["reason"], "released");
  EXPECT_EQ(standby.next("term:began")["epoch"], 2);
}

TEST_F(ElsewhereTest, InAnEmptiedDirectorySomebodyLeadsAgainAfterALeaseAndTwoSeconds) {
  Worker leader(store_, "w1");
  ASSERT_FALSE(leader.next("term:began").is_null());
  const MonoTime emptied = boot_now();
  run({"find", at("store"), "-mindepth", "1", "-delete"});
  ASSERT_FALSE(leader.next("term:ended").is_null());
  const json again = leader.next("term:began");
  EXPECT_EQ(again["epoch"], 2);
  EXPECT_LT(boot_now() - emptied, 3s);
}

TEST_F(ElsewhereTest, InADirectoryThatWasMadeAgainSomebodyLeadsAfterALeaseAndTwoSeconds) {
  Worker leader(store_, "w1");
  ASSERT_FALSE(leader.next("term:began").is_null());
  run({"rm", "-r", at("store")});
  ASSERT_FALSE(leader.next("term:ended").is_null());
  const MonoTime made = boot_now();
  run({"mkdir", at("store")});
  EXPECT_EQ(leader.next("term:began")["epoch"], 2);
  EXPECT_LT(boot_now() - made, 3s);
}

}  // namespace elsewhere_test
}  // namespace muster
