// Workers whose directory is renamed, mounted over, linked elsewhere or emptied under them, with the
// programs and the commands with which people do that.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "platform/system_clock.h"
#include "tests/cli/run_program.h"

namespace muster {
namespace elsewhere_test {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// Mounts of this thread and of the programs that it starts, until this goes.
class PrivateMounts {
 public:
  PrivateMounts()
      : before_(::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC)),
        directory_(fs::current_path()),
        own_(::unshare(CLONE_NEWNS) == 0 &&
             ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {}
  ~PrivateMounts() {
    if (!own_) return;
    EXPECT_EQ(::setns(before_.get(), CLONE_NEWNS), 0) << std::strerror(errno);
    fs::current_path(directory_);
  }
  PrivateMounts(const PrivateMounts&) = delete;
  PrivateMounts& operator=(const PrivateMounts&) = delete;
  [[nodiscard]] bool own() const { return own_; }

 private:
  UniqueFd before_;
  fs::path directory_;
  bool own_;
};

class ElsewhereTest : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return dir_.path() / name; }
  static void run(const Words& words) { ASSERT_EQ(run_program(words), 0) << words[0]; }
  json ask() const { return run_muster({"leader", "--arbiter", store_, "--json"}).json(); }

  /// w1 leads; then another directory comes to its path, by `move`, and w2 leads there.
  void expect_one_leader(const std::function<void()>& move) {
    Worker first(store_, "w1");
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
    EXPECT_THAT(first.errors_so_far(), HasSubstr("another directory is at the store's path"));
    EXPECT_EQ(ask()["leader"], "w2");
    // From now on both are in the same store: when one goes, the other follows.
    second.kill();
    EXPECT_GT(first.next("term:began")["epoch"], 1) << "above every epoch that it has seen";
    EXPECT_EQ(ask()["leader"], "w1");
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
  const PrivateMounts mounts;
  if (!mounts.own()) GTEST_SKIP() << "no mounts of its own: " << std::strerror(errno);
  run({"mkdir", at("store"), at("other")});
  expect_one_leader([&] { run({"mount", "--bind", at("other"), at("store")}); });
  run({"umount", "--lazy", at("store")});
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
  // Both write again: the one hands over, the other takes the lead.
  EXPECT_EQ(leader.terminate(), 0);
  EXPECT_EQ(leader.next("term:ended")["reason"], "released");
  EXPECT_EQ(standby.next("term:began")["epoch"], 2);
}

TEST_F(ElsewhereTest, InAnEmptiedDirectorySomebodyLeadsAgainAfterALeaseAndTwoSeconds) {
  Worker leader(store_, "w1");
  ASSERT_FALSE(leader.next("term:began").is_null());
  const MonoTime emptied = boot_now();
  run({"find", at("store"), "-mindepth", "1", "-delete"});
  EXPECT_EQ(leader.next("term:ended")["reason"], "state lost");
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
