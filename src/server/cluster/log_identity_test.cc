#include "server/cluster/log_identity.h"

#include <gtest/gtest.h>

#include <fstream>

#include "store/file/test_client.h"

namespace muster::server {
namespace log_identity_test {

TEST(LogIdentityTest, IsKept) {
  const file::TempDir dir;
  EXPECT_EQ(known_log(dir.path()).value(), "");
  ASSERT_TRUE(remember_log(dir.path(), "one").ok());
  ASSERT_TRUE(remember_log(dir.path(), "two").ok());
  EXPECT_EQ(known_log(dir.path()).value(), "two");
}

TEST(LogIdentityTest, NothingIsKeptWithoutADirectory) {
  EXPECT_TRUE(remember_log("", "one").ok());
  EXPECT_EQ(known_log("").value(), "");
}

TEST(LogIdentityTest, AFileThatSaysNothingIsNotTakenForNone) {
  const file::TempDir dir;
  std::ofstream(log_identity_path(dir.path())) << "\n";
  EXPECT_TRUE(known_log(dir.path()).is(Errc::kCorrupt));
}

TEST(LogIdentityTest, ADirectoryIsOneServers) {
  const file::TempDir dir;
  ASSERT_TRUE(claim_directory(dir.path(), "s1").ok());
  EXPECT_TRUE(claim_directory(dir.path(), "s1").ok());
  const Status refused = claim_directory(dir.path(), "s2");
  ASSERT_TRUE(refused.is(Errc::kConflict));
  EXPECT_NE(refused.error().message.find("belongs to server s1"), std::string::npos);
  EXPECT_TRUE(claim_directory("", "s2").ok());
}

}  // namespace log_identity_test
}  // namespace muster::server
