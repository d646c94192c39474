// What the file store promises between processes, with real ones: killed, stopped, out of disk.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "platform/files.h"
#include "store/file/directory.h"
#include "store/file/test_client.h"
#include "store/file/test_process.h"

namespace muster::file {
namespace file_store_process_test {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// One acknowledged increment: the number written and the revision it replaced.
struct Increment {
  std::uint64_t number;
  std::array<char, 48> predecessor;
};

void increment_for_ever(const std::string& path, const std::string& options, int out,
                        std::uint64_t limit) {
  TestClient client(path, options);
  for (std::uint64_t done = 0; done < limit;) {
    const auto now = client.get("counter");
    if (!now) ::_exit(2);
    const std::uint64_t number = parse_unsigned(now->body).value_or(0) + 1;
    const auto put = client.put("counter", std::to_string(number), Precondition::at(now->revision));
    if (put.is(Errc::kConflict)) continue;
    if (!put) ::_exit(3);
    Increment increment{number, {}};
    now->revision.value().copy(increment.predecessor.data(), increment.predecessor.size() - 1);
    if (::write(out, &increment, sizeof increment) != sizeof increment) ::_exit(4);
    ++done;
  }
}

/// Reads the acknowledgements and checks that no predecessor was used twice.
class Ledger {
 public:
  void add(const Increment& increment) {
    EXPECT_TRUE(numbers_.insert(increment.number).second) << increment.number;
    EXPECT_TRUE(predecessors_.insert(increment.predecessor.data()).second);
  }
  /// False at the end of the pipe.
  bool read_one(int in) {
    Increment increment{};
    if (::read(in, &increment, sizeof increment) != sizeof increment) return false;
    add(increment);
    return true;
  }
  [[nodiscard]] std::uint64_t acknowledged() const { return numbers_.size(); }
  [[nodiscard]] std::uint64_t highest() const { return numbers_.empty() ? 0 : *numbers_.rbegin(); }

 private:
  std::set<std::uint64_t> numbers_;
  std::set<std::string> predecessors_;
};

std::uint64_t counter_in(const std::string& path) {
  TestClient client(path);
  return parse_unsigned(client.get("counter").value().body).value();
}

void make_counter(const std::string& path) {
  TestClient client(path);
  ASSERT_TRUE(client.put("counter", "0", Precondition::absent()).ok());
}

TEST(FileStoreProcessTest, EightProcessesIncrementOneCounterAHundredTimesEach) {
  TempDir dir;
  make_counter(dir.path());
  Pipe pipe;
  std::vector<Child> children;
  for (int i = 0; i < 8; ++i) {
    children.emplace_back(
        [&] { increment_for_ever(dir.path(), "?sync=off", pipe.write.get(), 100); });
  }
  pipe.write.reset();
  Ledger ledger;
  while (ledger.read_one(pipe.read.get())) {
  }
  for (Child& child : children) EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(ledger.acknowledged(), 800u);
  EXPECT_EQ(counter_in(dir.path()), 800u);
}

void kill_at_random_moments(const std::string& options, int kills, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  TempDir dir;
  make_counter(dir.path());
  Pipe pipe;
  const auto start = [&] {
    return std::make_unique<Child>(
        [&] { increment_for_ever(dir.path(), options, pipe.write.get(), UINT64_MAX); });
  };
  std::array<std::unique_ptr<Child>, 4> children;
  for (auto& child : children) child = start();
  Ledger ledger;
  for (int i = 0; i < kills; ++i) {
    // Another process's progress is the clock here, so the victim may be anywhere.
    for (std::uint64_t wait = random.below(20); wait > 0; --wait) {
      ASSERT_TRUE(ledger.read_one(pipe.read.get()));
    }
    auto& victim = children[random.below(children.size())];
    EXPECT_TRUE(victim->kill()) << "a call failed before the kill";
    victim = start();
  }
  for (auto& child : children) EXPECT_TRUE(child->kill()) << "a call failed before the kill";
  pipe.write.reset();
  while (ledger.read_one(pipe.read.get())) {
  }
  TestClient client(dir.path(), options);
  const auto counter = parse_unsigned(client.get("counter").value().body).value();
  EXPECT_GE(counter, ledger.highest());
  // A kill may come between the write and its acknowledgement, and loses no more than that one.
  EXPECT_LE(counter - ledger.acknowledged(), static_cast<std::uint64_t>(kills) + children.size());
  ASSERT_TRUE(client.list("").ok());  // After the sweep of the opening.
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir.path())) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_EQ(names, (std::set<std::string>{"journal", "lock", "objects"}));
}

TEST(FileStoreProcessTest, KillsAtRandomMomentsLoseNoAcknowledgedWrite) {
  kill_at_random_moments("?sync=off", 150, 20240611);
}

TEST(FileStoreProcessTest, KillsAtRandomMomentsOfDurableWritesLoseNoneEither) {
  kill_at_random_moments("", 40, 7);
}

TEST(FileStoreProcessTest, AWriterKilledHalfWayIsPutInOrderByTheNext) {
  TempDir dir;
  Revision before;
  {
    TestClient client(dir.path());
    before = client.put("k", "old").value();
  }
  // Every instant at which a writer may die, in the order in which it passes them.
  const std::string temporary = dir.path() + "/new";
  for (const bool begun : {false, true}) {
    std::ofstream(temporary) << "half an obj";
    if (begun) {
      Journal journal(files::open_at(AT_FDCWD, dir.path() + "/journal", O_RDWR).value());
      ASSERT_TRUE(journal.load().ok());
      ASSERT_TRUE(journal.begin("k", InFlight::kPut).ok());
    }
    TestClient client(dir.path(), "");
    EXPECT_EQ(client.get("k").value().revision, before);
    ASSERT_TRUE(client.list("").ok());
    EXPECT_FALSE(fs::exists(temporary));
  }
  TestClient client(dir.path());
  EXPECT_TRUE(client.put("k", "new", Precondition::at(before)).ok());
}

TEST(FileStoreProcessTest, AWatcherSeesWhatAKilledWriterDid) {
  TempDir dir;
  TestClient watcher(dir.path());
  ASSERT_TRUE(watcher.put("k", "old").ok());
  std::promise<std::string> seen;
  std::unique_ptr<Watch> watch;
  watcher.loop().run([&] {
    watch = watcher.store().watch("", "", [&](const WatchEvent& event) {
      if (event.object.body == "new") seen.set_value(event.key);
    });
  });
  // Killed after the rename and before anything else.
  auto writer = Directory::open(dir.path(), {.sync = false}).value();
  while (!writer->try_lock().value()) {
  }
  Journal journal(files::open_at(AT_FDCWD, dir.path() + "/journal", O_RDWR).value());
  ASSERT_TRUE(journal.load().ok());
  ASSERT_TRUE(journal.begin("k", InFlight::kPut).ok());
  std::ofstream(dir.path() + "/new") << encode_object(journal.state().sequence, 1, "new");
  fs::rename(dir.path() + "/new", dir.path() + "/objects/k");
  writer.reset();
  EXPECT_EQ(seen.get_future().get(), "k");
  watcher.loop().run([&] { watch.reset(); });
}

// R10: a backup that locks the directory, for one.
TEST(FileStoreProcessTest, AnotherProgramThatHoldsTheLockIsNamed) {
  TempDir dir;
  TestClient client(dir.path());
  ASSERT_TRUE(client.put("k", "1").ok());
  Child holder([&] {
    const UniqueFd directory(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (::flock(directory.get(), LOCK_EX) == 0) ::raise(SIGSTOP);
  });
  holder.wait_until_stopped();
  const auto put = client.put("k", "2", {}, 1s);
  ASSERT_TRUE(put.is(Errc::kUnavailable));
  EXPECT_THAT(put.error().message, HasSubstr("process " + std::to_string(holder.pid()) + " holds"));
  holder.kill();
}

TEST(FileStoreProcessTest, AStoppedHolderOfTheLockIsNamedAndWritesNothingLater) {
  TempDir dir;
  {
    TestClient client(dir.path());
    ASSERT_TRUE(client.put("k", "1").ok());
  }
  Child holder([&] {
    auto directory = Directory::open(dir.path(), {}).value();
    while (!directory->try_lock().value()) {
    }
    ::raise(SIGSTOP);
  });
  holder.wait_until_stopped();
  TestClient client(dir.path());
  // R65: not before it has held the lock for longer than a turn.
  std::string hurried;
  for (int i = 0; i < 20 && hurried.find("did not come in time") == hurried.npos; ++i) {
    TestClient other(dir.path());
    hurried = other.put("k", "2", {}, 10ms).error().message;
  }
  EXPECT_THAT(hurried, HasSubstr("the turn of this request did not come in time"));
  const auto put = client.put("k", "2", {}, 1s);
  ASSERT_TRUE(put.is(Errc::kUnavailable));
  EXPECT_THAT(put.error().message, HasSubstr("process " + std::to_string(holder.pid())));
  EXPECT_EQ(client.get("k").value().body, "1") << "reading goes on";
  holder.kill();
  EXPECT_EQ(client.list("").value().objects.size(), 1u);
  EXPECT_EQ(client.get("k").value().body, "1") << "a write that was given up must not come later";
}

TEST(FileStoreProcessTest, AFullDiskLeavesNothingBehind) {
  TempDir dir;
  const std::string said = in_private_mounts(dir.path(), "size=256k", [&]() -> std::string {
    TestClient client(dir.path(), "");
    if (!client.put("small", "x")) return "cannot write at all";
    const auto put = client.put("deep/er/large", std::string(1 << 20, 'x'));
    if (!put.is(Errc::kUnavailable)) return "not refused";
    if (fs::exists(dir.path() + "/new")) return "the temporary file is still there";
    if (!client.get("deep/er/large").is(Errc::kNotFound)) return "a part is visible";
    if (!client.put("small", "y", Precondition::at(client.get("small")->revision))) {
      return "does not go on afterwards";
    }
    return put.error().message;
  });
  EXPECT_THAT(said, HasSubstr("no space left on the disk"));
}

TEST(FileStoreProcessTest, AReadOnlyFileSystemIsOneSentence) {
  TempDir dir;
  const std::string said = in_private_mounts(dir.path(), "size=1m", [&]() -> std::string {
    {
      TestClient client(dir.path(), "");
      if (!client.put("k", "x")) return "cannot write at all";
    }
    if (::mount("none", dir.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return "cannot remount";
    }
    const TestClient client(dir.path());
    return client.error() ? client.error()->message : "opened for writing";
  });
  EXPECT_THAT(said, HasSubstr("the file system is read-only"));
}

TEST(FileStoreProcessTest, AnUnreadableDirectoryIsOneSentence) {
  TempDir dir;
  fs::permissions(dir.path(), fs::perms::none);
  Pipe pipe;
  Child child([&] {
    // Root may read everything, so it becomes someone who may not.
    if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
    const TestClient client(dir.path());
    const std::string said = client.error() ? client.error()->message : "opened";
    if (::write(pipe.write.get(), said.data(), said.size()) < 0) ::_exit(1);
  });
  pipe.write.reset();
  std::array<char, 512> said{};
  EXPECT_GT(::read(pipe.read.get(), said.data(), said.size() - 1), 0);
  EXPECT_EQ(child.wait(), 0);
  EXPECT_THAT(said.data(), HasSubstr("this user lacks the permission"));
  fs::permissions(dir.path(), fs::perms::owner_all);
}

}  // namespace file_store_process_test
}  // namespace muster::file
