#include "platform/whole_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "platform/files.h"

namespace muster::files {
namespace whole_file_test {

class WholeFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-whole-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    root_ = open_or_make_directory(path_).value();
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  [[nodiscard]] unsigned mode(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(::stat((path_ + "/" + name).c_str(), &info), 0);
    return info.st_mode & 07777U;
  }
  [[nodiscard]] std::size_t count() const { return entries(root_.get(), ".")->size(); }

  std::string path_;
  UniqueFd root_;
};

TEST_F(WholeFileTest, IsWrittenWithItsModeAndReadBack) {
  ASSERT_TRUE(write_whole(root_.get(), "k", "secret", Readers::kOwner, Existing::kKeep).ok());
  ASSERT_TRUE(write_whole(root_.get(), "c", "open", Readers::kEverybody, Existing::kKeep).ok());
  EXPECT_EQ(mode("k"), 0600u);
  EXPECT_EQ(mode("c"), 0644u);
  EXPECT_EQ(read_whole(path_ + "/k").value(), "secret");
  EXPECT_EQ(count(), 2u);
}

TEST_F(WholeFileTest, OneThatIsThereIsReplacedOnlyWhenAskedTo) {
  ASSERT_TRUE(write_whole(root_.get(), "f", "one", Readers::kOwner, Existing::kKeep).ok());
  EXPECT_TRUE(
      write_whole(root_.get(), "f", "two", Readers::kOwner, Existing::kKeep).is(Errc::kConflict));
  EXPECT_EQ(read_whole(path_ + "/f").value(), "one");
  ASSERT_TRUE(write_whole(root_.get(), "f", "two", Readers::kOwner, Existing::kReplace).ok());
  EXPECT_EQ(read_whole(path_ + "/f").value(), "two");
  EXPECT_EQ(count(), 1u);
}

TEST_F(WholeFileTest, ADraftOfACrashIsNoObstacle) {
  std::ofstream(path_ + "/.f.draft") << "half";
  ASSERT_TRUE(write_whole(root_.get(), "f", "whole", Readers::kOwner, Existing::kKeep).ok());
  EXPECT_EQ(read_whole(path_ + "/f").value(), "whole");
  EXPECT_EQ(count(), 1u);
}

TEST_F(WholeFileTest, IsReadThroughLinksAndWithinBounds) {
  std::ofstream(path_ + "/f") << "12345";
  std::filesystem::create_symlink("f", path_ + "/l");
  EXPECT_EQ(read_whole(path_ + "/l", 5).value(), "12345");
  EXPECT_TRUE(read_whole(path_ + "/l", 4).is(Errc::kInvalid));
  EXPECT_TRUE(read_whole(path_ + "/absent").is(Errc::kNotFound));
  EXPECT_FALSE(read_whole(path_).ok());
}

// R61: what a shell passes as <(…).
TEST_F(WholeFileTest, APipeIsReadToItsEndAndWithinBounds) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  {
    const UniqueFd writer(ends[1]);
    ASSERT_EQ(::write(writer.get(), "12345", 5), 5);
  }
  EXPECT_EQ(read_whole("/dev/fd/" + std::to_string(reader.get()), 5).value(), "12345");
  EXPECT_TRUE(read_whole("/dev/zero", 4).is(Errc::kInvalid));
}

}  // namespace whole_file_test
}  // namespace muster::files
