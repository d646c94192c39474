// P02: a store that takes conditions and ignores them is refused, by name of the failed step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/child_process.h"
#include "tests/support/scoped_env.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(ProbeS3rverTest, IsRefusedAndLeftEmpty) {
  const ScopedEnv access("AWS_ACCESS_KEY_ID", "S3RVER");
  const ScopedEnv secret("AWS_SECRET_ACCESS_KEY", "S3RVER");
  const TempDir dir;
  const std::string source = MUSTER_SOURCE_DIR;
  const std::string port = std::to_string(free_port());
  ChildProcess server({source + "/tools/testing/s3rver.sh", "serve", source + "/build/npm",
                       (dir.path() / "data").string(), port});
  ASSERT_EQ(server.read_line(), "ready") << "s3rver did not start; it needs npm and its registry";

  LoopThread thread;
  TestStore store(thread, open_url("s3://muster/probe?endpoint=http://127.0.0.1:" + port +
                                   "&region=us-east-1&style=path"));
  const auto users = store.put("state.json", "the user's own");
  ASSERT_TRUE(users) << users.error().message;
  const Status verdict = probe(store);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.code(), Errc::kUnsupported) << verdict.error().message;
  EXPECT_THAT(verdict.error().message, HasSubstr("\"create twice\""));
  EXPECT_EQ(store.get("state.json")->revision, *users);
  EXPECT_EQ(store.list("")->objects.size(), 1u) << "the scratch object is gone";
}

}  // namespace
}  // namespace muster
