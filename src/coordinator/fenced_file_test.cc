#include "coordinator/fenced_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "platform/files.h"

namespace muster {
namespace fenced_file_test {

namespace fs = std::filesystem;

struct FencedFileTest : ::testing::Test {
  FencedFileTest() {
    std::string name = (fs::temp_directory_path() / "muster-fence-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
    directory = name;
    path = (directory / "ledger").string();
  }
  ~FencedFileTest() override { fs::remove_all(directory); }

  [[nodiscard]] std::string content() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path directory;
  std::string path;
};

TEST_F(FencedFileTest, WritesAndRemembersTheEpoch) {
  ASSERT_TRUE(FencedFile(path).write("one", Epoch(3)));
  EXPECT_EQ(content(), "one");
  EXPECT_EQ(*FencedFile(path).epoch(), Epoch(3));
  ASSERT_TRUE(FencedFile(path).write("two", Epoch(3)));
  EXPECT_EQ(content(), "two");
}

TEST_F(FencedFileTest, RefusesAReplacedLeader) {
  ASSERT_TRUE(FencedFile(path).write("new", Epoch(7)));
  const Status refused = FencedFile(path).write("old", Epoch(5));
  EXPECT_TRUE(refused.is(Errc::kDenied));
  EXPECT_EQ(refused.error().message, "ledger: epoch 5 is behind 7");
  EXPECT_EQ(content(), "new");
}

TEST_F(FencedFileTest, FenceShutsTheOldLeaderOutBeforeTheNewOneWorks) {
  ASSERT_TRUE(FencedFile(path).write("old", Epoch(5)));
  ASSERT_TRUE(FencedFile(path).fence(Epoch(6)));
  EXPECT_TRUE(FencedFile(path).write("late", Epoch(5)).is(Errc::kDenied));
  EXPECT_EQ(content(), "old");
}

TEST_F(FencedFileTest, ADamagedEpochRefusesEverybody) {
  ASSERT_TRUE(FencedFile(path).write("one", Epoch(3)));
  std::ofstream(path + ".epoch") << "many";
  EXPECT_TRUE(FencedFile(path).write("two", Epoch(9)).is(Errc::kCorrupt));
  EXPECT_EQ(content(), "one");
}

TEST_F(FencedFileTest, AWriterThatHoldsTheLockIsNotWaitedFor) {
  ASSERT_TRUE(FencedFile(path).write("one", Epoch(3)));
  auto file = files::open_at(AT_FDCWD, path + ".lock", O_RDWR);
  ASSERT_TRUE(file);
  files::FileLock lock(*std::move(file));
  ASSERT_TRUE(*lock.try_lock());
  EXPECT_TRUE(FencedFile(path).write("two", Epoch(3)).is(Errc::kUnavailable));
}

/// Writing `path` fails from now on, as on a disk that dies under it.
void break_file(const std::string& path) {
  fs::create_directory(path + ".new");
}

TEST_F(FencedFileTest, AWriteThatDiesHalfWayHasShutTheOldLeaderOut) {
  ASSERT_TRUE(FencedFile(path).write("old", Epoch(3)));
  break_file(path);
  ASSERT_FALSE(FencedFile(path).write("new", Epoch(4)));
  EXPECT_EQ(*FencedFile(path).epoch(), Epoch(4)) << "the epoch comes before the content";
  EXPECT_TRUE(FencedFile(path).write("late", Epoch(3)).is(Errc::kDenied));
}

TEST_F(FencedFileTest, ContentNeverComesBeforeItsEpoch) {
  ASSERT_TRUE(FencedFile(path).write("old", Epoch(3)));
  break_file(path + ".epoch");
  ASSERT_FALSE(FencedFile(path).write("new", Epoch(4)));
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(*FencedFile(path).epoch(), Epoch(3));
}

TEST_F(FencedFileTest, EveryOrderOfARaceEndsWithTheHighestEpoch) {
  std::vector<std::thread> leaders;
  for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) {
    leaders.emplace_back([this, epoch] {
      const FencedFile file(path);
      for (int i = 0; i < 20;) {
        const Status written = file.write(std::to_string(epoch), Epoch(epoch));
        if (written.is(Errc::kUnavailable)) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_TRUE(written.ok() || written.is(Errc::kDenied));
        ++i;
      }
    });
  }
  for (std::thread& leader : leaders) leader.join();
  EXPECT_EQ(content(), "4");
  EXPECT_EQ(*FencedFile(path).epoch(), Epoch(4));
}

}  // namespace fenced_file_test
}  // namespace muster
