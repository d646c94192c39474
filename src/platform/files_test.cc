#include "platform/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace muster::files {
namespace files_test {

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    root_ = open_or_make_directory(path_).value();
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  UniqueFd create(const std::string& name) {
    return open_at(root_.get(), name, O_RDWR | O_CREAT).value();
  }

  std::string path_;
  UniqueFd root_;
};

TEST_F(FilesTest, WhatIsWrittenIsReadWholeOrInPart) {
  const UniqueFd file = create("f");
  ASSERT_TRUE(write_at(file.get(), 0, "hello world").ok());
  ASSERT_TRUE(write_at(file.get(), 6, "there").ok());
  EXPECT_EQ(read(root_.get(), "f", 100)->bytes, "hello there");
  const Content beginning = read(root_.get(), "f", 5).value();
  EXPECT_EQ(beginning.bytes, "hello");
  EXPECT_EQ(beginning.size, 11u);
  EXPECT_EQ(read_at(file.get(), 6, 100).value(), "there");
  EXPECT_TRUE(read(root_.get(), "absent", 1).is(Errc::kNotFound));
}

TEST_F(FilesTest, FailuresAreSentencesThatNameTheirReason) {
  EXPECT_EQ(failure(ENOSPC, "write x").message, "cannot write x: no space left on the disk");
  EXPECT_EQ(failure(ENOSPC, "write x").code, Errc::kUnavailable);
  EXPECT_EQ(failure(EROFS, "write x").code, Errc::kDenied);
  const UniqueFd full = open_at(AT_FDCWD, "/dev/full", O_WRONLY).value();
  EXPECT_TRUE(write_at(full.get(), 0, "x").is(Errc::kUnavailable));
}

TEST_F(FilesTest, EntriesTellDirectoriesFromFiles) {
  create("f");
  ASSERT_TRUE(make_directory(root_.get(), "d").ok());
  ASSERT_TRUE(make_directory(root_.get(), "d").ok());
  const auto found = entries(root_.get(), ".").value();
  ASSERT_EQ(found.size(), 2u);
  for (const Entry& entry : found) EXPECT_EQ(entry.is_directory, entry.name == "d");
  EXPECT_TRUE(entries(root_.get(), "absent").is(Errc::kNotFound));
  EXPECT_TRUE(remove_if_empty(root_.get(), "d"));
  EXPECT_FALSE(remove_if_empty(root_.get(), "f"));
}

TEST_F(FilesTest, ALockExcludesEvenTheSameProcessAndNamesItsHolder) {
  FileLock one(create("lock")), two(create("lock"));
  EXPECT_TRUE(one.try_lock().value());
  EXPECT_FALSE(two.try_lock().value());
  EXPECT_EQ(two.holder(), process_id());
  one.unlock();
  EXPECT_TRUE(two.try_lock().value());
  two.unlock();
  const UniqueFd stranger = create("lock");
  ASSERT_EQ(::flock(stranger.get(), LOCK_EX), 0);
  EXPECT_FALSE(two.try_lock().value());
  EXPECT_EQ(two.holder(), 0) << "a program that does not say who it is";
}

TEST_F(FilesTest, ADescriptorCanStandForAnotherFile) {
  ASSERT_TRUE(write_at(create("a").get(), 0, "1").ok());
  ASSERT_TRUE(write_at(create("b").get(), 0, "2").ok());
  const UniqueFd fd = create("a");
  ASSERT_TRUE(replace(fd.get(), create("b")).ok());
  EXPECT_EQ(read_at(fd.get(), 0, 1).value(), "2");
}

TEST_F(FilesTest, AnExchangeNeedsBothFiles) {
  ASSERT_TRUE(write_at(create("a").get(), 0, "1").ok());
  EXPECT_FALSE(exchange(root_.get(), "a", "b"));
  ASSERT_TRUE(write_at(create("b").get(), 0, "2").ok());
  ASSERT_TRUE(exchange(root_.get(), "a", "b"));
  EXPECT_EQ(read(root_.get(), "a", 1)->bytes, "2");
  EXPECT_EQ(read(root_.get(), "b", 1)->bytes, "1");
}

TEST_F(FilesTest, AnIdTellsWhetherAPathStillLeadsToAnOpenFile) {
  const UniqueFd file = create("f");
  const FileId id = id_of(file.get()).value();
  EXPECT_EQ(id_at(root_.get(), "f").value(), id);
  EXPECT_EQ(id_at(path_ + "/f").value(), id);
  ASSERT_TRUE(rename(root_.get(), "f", "g").ok());
  create("f");
  EXPECT_NE(id_at(root_.get(), "f").value(), id);
  EXPECT_EQ(id_of(file.get()).value(), id);
  ASSERT_TRUE(unlink(root_.get(), "f").ok());
  EXPECT_TRUE(id_at(root_.get(), "f").is(Errc::kNotFound));
}

TEST_F(FilesTest, AWaitEndsByAWakeUpOrAWriteAndTellsThemApart) {
  const UniqueFd file = create("f");
  FileWaiter waiter;
  ASSERT_TRUE(waiter.watch(file.get()).ok());
  EXPECT_FALSE(waiter.wait(0s));
  waiter.wake();
  EXPECT_FALSE(waiter.wait(Duration::max()));
  ASSERT_TRUE(write_at(create("f").get(), 0, "x").ok());
  EXPECT_TRUE(waiter.wait(Duration::max()));
  EXPECT_FALSE(waiter.wait(0s));
}

TEST_F(FilesTest, ThisBootHasAnId) {
  EXPECT_EQ(boot_id().size(), 36u);
  EXPECT_EQ(boot_id(), boot_id());
}

}  // namespace files_test
}  // namespace muster::files
