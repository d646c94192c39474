#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {
namespace {

/// Servers that run their own Raft cluster underneath.
class ManagedTest : public ::testing::Test {
 protected:
  static constexpr const char* kNames[] = {"s1", "s2", "s3", "s4"};

  ManagedTest() {
    for (int& port : ports_) port = free_port();
  }
  std::string peers(std::size_t count) const {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += (i == 0 ? "" : ",") + peer(i);
    return all;
  }
  std::string peer(std::size_t i) const {
    return std::string(kNames[i]) + "=127.0.0.1:" + std::to_string(ports_[i]);
  }
  /// The first members wait for each other, so they start together.
  void start_three() {
    std::vector<std::string> words{"--peers", peers(3)};
    for (std::size_t i = 0; i < 3; ++i) add(i, words, false);
    for (std::size_t i = 0; i < 3; ++i) servers_[i]->await();
  }
  Musterd& add(std::size_t i, std::vector<std::string> words, bool wait = true) {
    const std::string data = dir_.path() / kNames[i];
    words.insert(words.end(), {"--data-dir", data});
    servers_.push_back(
        std::make_unique<Musterd>(kNames[i], "managed", dir_.path(), std::move(words), wait));
    return *servers_.back();
  }
  bool writes(Musterd& server, const std::string& key) {
    return eventually([&] { return put(server, key, "v", 2s).ok(); });
  }

  TempDir dir_;
  int ports_[4];
  std::vector<std::unique_ptr<Musterd>> servers_;
};

// T02.
TEST_F(ManagedTest, ThreeServersAreOneClusterThatOutlivesALossAndTakesAFourth) {
  start_three();
  ASSERT_TRUE(writes(*servers_[1], "a"));
  servers_[0]->kill();
  ASSERT_TRUE(writes(*servers_[1], "b"));
  ASSERT_TRUE(writes(*servers_[2], "c"));
  servers_[0]->start();
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(get(*servers_[0], key), "v") << key;

  Musterd& fourth = add(3, {"--peers", peer(3), "--join", servers_[0]->address()});
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(get(fourth, key), "v") << key;
  ASSERT_TRUE(writes(fourth, "d"));
  EXPECT_EQ(get(*servers_[2], "d"), "v");

  fourth.kill();
  v1::RemoveServerRequest request;
  request.set_id("s4");
  grpc::Status status;
  EXPECT_TRUE(eventually([&] {
    v1::RemoveServerResponse response;
    Context context;
    status = servers_[1]->admin().RemoveServer(&context, request, &response);
    return status.ok();
  })) << status.error_message();
  ASSERT_TRUE(writes(*servers_[1], "e"));
}

TEST_F(ManagedTest, AWipedServerComesBackWithEverything) {
  start_three();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(writes(*servers_[0], "k" + std::to_string(i)));
  servers_[1]->kill();
  std::filesystem::remove_all(dir_.path() / "s2");
  ASSERT_TRUE(writes(*servers_[0], "while it was gone"));
  // Admission takes as long as etcd wants its members to have been connected.
  servers_[1]->start(60s);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get(*servers_[1], "k" + std::to_string(i)), "v");
  EXPECT_EQ(get(*servers_[1], "while it was gone"), "v");
  // It counts again: another one may be lost.
  servers_[2]->kill();
  EXPECT_TRUE(eventually([&] { return put(*servers_[0], "last", "v", 2s).ok(); }, 60s));
  EXPECT_EQ(get(*servers_[1], "last"), "v");
}

TEST_F(ManagedTest, OneServerAloneKeepsItsStateOverARestart) {
  Musterd& only = add(0, {"--peers", peers(1)});
  ASSERT_TRUE(writes(only, "a"));
  EXPECT_EQ(only.terminate(), 0);
  only.start();
  EXPECT_EQ(get(only, "a"), "v");
}

}  // namespace
}  // namespace muster::testing
