#include "platform/memory_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

namespace muster {
namespace memory_file_test {

std::string content(const MemoryFile& file) {
  std::ostringstream text;
  text << std::ifstream(file.path()).rdbuf();
  return text.str();
}

std::int64_t modified(const MemoryFile& file) {
  struct stat facts {};
  EXPECT_EQ(::stat(file.path().c_str(), &facts), 0);
  return facts.st_mtime;
}

TEST(MemoryFileTest, IsReadAtItsPathAgainAndAgain) {
  const auto file = MemoryFile::make("test", "one");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(content(*file), "one");
  EXPECT_EQ(content(*file), "one");
}

TEST(MemoryFileTest, IsReplacedAsAWholeUnderTheSamePath) {
  auto file = MemoryFile::make("test", "a longer first content").value();
  const std::string path = file.path();
  const std::int64_t before = modified(file);
  std::ifstream earlier(path);
  ASSERT_TRUE(file.replace("two").ok());
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(content(file), "two");
  EXPECT_NE(modified(file), before);
  std::ostringstream text;
  text << earlier.rdbuf();
  EXPECT_EQ(text.str(), "a longer first content");
}

}  // namespace memory_file_test
}  // namespace muster
