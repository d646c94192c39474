// P02: a store that takes conditions and ignores them is refused, by name of the failed step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/hub.h"
#include "core/election/records.h"
#include "tests/support/child_process.h"
#include "tests/support/scoped_env.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace s3rver_test {

using ::testing::HasSubstr;

/// A server that pretends: it answers every conditional write with success.
class ProbeS3rverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string source = MUSTER_SOURCE_DIR;
    server_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{source + "/tools/testing/s3rver.sh", "serve",
                                 source + "/build/npm", (dir_.path() / "data").string(), port_});
    ASSERT_EQ(server_->read_line(), "ready")
        << "s3rver did not start; it needs npm and its registry";
  }

  const ScopedEnv access_{"AWS_ACCESS_KEY_ID", "S3RVER"};
  const ScopedEnv secret_{"AWS_SECRET_ACCESS_KEY", "S3RVER"};
  const TempDir dir_;
  const std::string port_ = std::to_string(free_port());
  const std::string url_ =
      "s3://muster/probe?endpoint=http://127.0.0.1:" + port_ + "&region=us-east-1&style=path";
  std::unique_ptr<ChildProcess> server_;
};

// Takes up to 30 s: it starts a real s3rver in Node.js, which npm first installs unless it is in
// build/npm already.
TEST_F(ProbeS3rverTest, IsRefusedAndLeftEmpty) {
  LoopThread thread;
  TestStore store(thread, open_url(url_));
  const auto users = store.put("state.json", "the user's own");
  ASSERT_TRUE(users) << users.error().message;
  const Status verdict = probe(store);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.code(), Errc::kUnsupported) << verdict.error().message;
  EXPECT_THAT(verdict.error().message, HasSubstr("\"create twice\""));
  EXPECT_EQ(store.get("state.json")->revision, *users);
  EXPECT_EQ(store.list("")->objects.size(), 1u) << "the scratch object is gone";
}

TEST_F(ProbeS3rverTest, NoCoordinatorCampaignsOnIt) {
  const auto hub = Hub::open(url_).value();
  CoordinatorOptions options;
  options.startup_jitter_max = 0s;
  const auto coordinator = hub->coordinator("default", options).value();
  std::promise<TroubleEvent> trouble;
  coordinator->on_event([&](const CoordinatorEvent& event) {
    if (const auto* found = std::get_if<TroubleEvent>(&event)) trouble.set_value(*found);
  });
  coordinator->start();
  EXPECT_EQ(trouble.get_future().get().kind, TroubleEvent::Kind::kUnsafeStore);
  EXPECT_TRUE(hub->store().get(NamespaceKeys("default").state).is(Errc::kNotFound));
}

}  // namespace s3rver_test
}  // namespace muster
