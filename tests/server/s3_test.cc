// Three servers whose state is in a bucket of a real S3.

#include <gtest/gtest.h>

#include "tests/server/managed_scene.h"
#include "tests/support/radosgw.h"
#include "tests/support/scoped_env.h"

namespace muster::testing {
namespace s3_test {

class S3ClusterTest : public ::testing::Test {
 protected:
  std::vector<Musterd*> all() { return {&s1_, &s2_, &s3_}; }
  std::vector<Musterd*> others(Musterd* one) {
    std::vector<Musterd*> result = all();
    std::erase(result, one);
    return result;
  }

  RadosGateway& gateway_ = RadosGateway::shared();
  const ScopedEnv access_{"AWS_ACCESS_KEY_ID", RadosGateway::kAccessKey};
  const ScopedEnv secret_{"AWS_SECRET_ACCESS_KEY", RadosGateway::kSecretKey};
  TempDir dir_;
  const std::string engine_ = gateway_.url("servers");
  const std::vector<std::string> words_{"--lease-timeout", "4s", "--snapshot-entries", "30"};
  Musterd s1_{"s1", engine_, dir_.path(), words_};
  Musterd s2_{"s2", engine_, dir_.path(), words_};
  Musterd s3_{"s3", engine_, dir_.path(), words_};
};

// T01, T03 on an engine that cannot push and has no transactions.
TEST_F(S3ClusterTest, LosesNothingWhenTheLeaderOrEverybodyIsKilled) {
  // Takes about 11 s: radosgw starts, and the lease of 4 s runs out after the leader was killed and
  // once more after all were.
  Musterd* first = leader_of(all(), 60s);
  ASSERT_NE(first, nullptr);
  Writer writer("w", others(first));
  ASSERT_TRUE(writer.more(10));
  ASSERT_TRUE(register_node(*others(first)[0], node("n1")).ok());
  ASSERT_TRUE(heartbeat(*others(first)[1], "n1").ok());

  first->kill();
  ASSERT_TRUE(writer.more(10, 90s)) << "another one leads after the lease";
  first->start(60s);
  ASSERT_TRUE(writer.more(10, 90s));
  const std::vector<std::string> keys = writer.finish();
  expect_all(all(), keys);

  for (Musterd* each : all()) each->kill();
  for (Musterd* each : all()) each->start_soon();
  for (Musterd* each : all()) each->await(60s);
  expect_all(all(), keys);
  EXPECT_TRUE(find(topology(s2_), "n1"));
  EXPECT_TRUE(eventually([&] { return put(s3_, "on", "v", 2s).ok(); }, 60s));
}

}  // namespace s3_test
}  // namespace muster::testing
