#include "server/engine/data_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "server/security/tls_test_authority.h"

namespace muster::engine {
namespace data_directory_test {

mode_t mode_of(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 07777;
}

// Anyone who may enter may talk to etcd, which asks no questions. Kubernetes opens a volume to a
// group.
TEST(DataDirectoryTest, ItsEngineIsForItsOwnerOnlyWhateverWasThere) {
  const server::TestDirectory data;
  const std::string engine = data.file("engine");
  ASSERT_TRUE(DataDirectory::open(data.file("")).ok());
  EXPECT_EQ(mode_of(engine), 0700U);
  ASSERT_EQ(::chmod(engine.c_str(), 02775), 0);
  ASSERT_TRUE(DataDirectory::open(data.file("")).ok());
  EXPECT_EQ(mode_of(engine), 0700U);
}

TEST(DataDirectoryTest, IsUsedByOneServerAtATime) {
  const server::TestDirectory data;
  auto first = DataDirectory::open(data.file(""));
  ASSERT_TRUE(first.ok());
  const auto second = DataDirectory::open(data.file(""));
  ASSERT_TRUE(second.is(Errc::kConflict));
  EXPECT_NE(second.error().message.find("in use by another musterd"), std::string::npos);
  first->reset();
  EXPECT_TRUE(DataDirectory::open(data.file("")).ok());
}

}  // namespace data_directory_test
}  // namespace muster::engine
