#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>

#include "platform/system_clock.h"
#include "tests/engine/engine_scene.h"

namespace muster::testing {
namespace start_test {

using ::testing::HasSubstr;
using State = EngineHealth::State;

class EngineStartTest : public EngineScene {
 protected:
  /// What a node that cannot start says.
  std::string refusal(const std::string& name) {
    start(name);
    EXPECT_TRUE(until([&] { return node(name).ready.has_value(); }));
    EXPECT_FALSE(node(name).ready->ok());
    EXPECT_EQ(node(name).engine->health().state, State::kEnded);
    return node(name).ready->ok() ? "" : node(name).ready->error().message;
  }

  std::string script(const std::string& text) {
    const std::string path = folder() + "/etcd-script";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
};

TEST_F(EngineStartTest, OneMemberServesThroughItsSocket) {
  make_cluster({"s1"});
  start_all();
  const auto store = open("s1");
  ASSERT_TRUE(put(*store, "key", "body").ok());
  EXPECT_EQ(get(*store, "key"), "body");
  ASSERT_TRUE(until([&] { return node("s1").engine->health().leader == "s1"; }));
  EXPECT_EQ(node("s1").engine->health().state, State::kServing);
  EXPECT_THAT(node("s1").engine->health().version, ::testing::StartsWith("3."));
  // Nobody but this user reaches the member: it has a socket in a private directory only.
  const auto directory = std::filesystem::status(node("s1").options.directory());
  EXPECT_EQ(directory.permissions(), std::filesystem::perms::owner_all);
}

TEST_F(EngineStartTest, AStopIsOrderlyAndTheDataStay) {
  make_cluster({"s1"});
  start_all();
  ASSERT_TRUE(put(*open("s1"), "key", "body").ok());
  stop("s1");
  EXPECT_TRUE(etcds().empty());
  start("s1");
  await_ready("s1");
  EXPECT_EQ(get(*open("s1"), "key"), "body");
}

TEST_F(EngineStartTest, DestroyingItEndsEtcd) {
  make_cluster({"s1"});
  start_all();
  ASSERT_EQ(etcds().size(), 1U);
  kill("s1");
  EXPECT_TRUE(etcds().empty());
}

// C07: kill -9 of musterd leaves no etcd behind.
TEST_F(EngineStartTest, EtcdDiesWithItsMusterd) {
  ChildProcess host(host_words(folder() + "/s1"));
  ASSERT_THAT(host.read_line(), HasSubstr("ready etcd:///"));
  ASSERT_EQ(etcds().size(), 1U);
  const MonoTime killed = boot_now();
  host.kill();
  while (!etcds().empty() && boot_now() < killed + 5s) {
  }
  const Duration took = boot_now() - killed;
  EXPECT_LT(took, 2s);
  RecordProperty("milliseconds", static_cast<int>(to_ms(took)));

  // And its successor does not stumble over what is left.
  ChildProcess successor(host_words(folder() + "/s1"));
  EXPECT_THAT(successor.read_line(), HasSubstr("ready etcd:///"));
}

TEST_F(EngineStartTest, WithoutEtcdItSaysWhatToInstall) {
  make_cluster({"s1"});
  node("s1").options.program = "no-such-etcd";
  EXPECT_THAT(refusal("s1"), HasSubstr("install etcd-server 3.4 or later"));
}

TEST_F(EngineStartTest, AnOldEtcdIsRefused) {
  make_cluster({"s1"});
  node("s1").options.program = script("echo etcd Version: 3.3.25");
  EXPECT_THAT(refusal("s1"), HasSubstr("is etcd 3.3.25; a managed engine needs 3.4 or later"));
}

TEST_F(EngineStartTest, AnotherProgramIsRefused) {
  make_cluster({"s1"});
  node("s1").options.program = script("echo hello");
  EXPECT_THAT(refusal("s1"), HasSubstr("is not etcd"));
}

TEST_F(EngineStartTest, ASecondMusterdOnTheSameDataIsRefused) {
  make_cluster({"s1"});
  start_all();
  const auto other = host_words(node("s1").options.data_dir);
  ChildProcess host(other);
  EXPECT_THAT(host.read_line(), HasSubstr("is in use by another musterd (process "));
  EXPECT_EQ(etcds().size(), 1U);
}

TEST_F(EngineStartTest, AnotherEtcdOnTheSameDataIsNamed) {
  make_cluster({"s1"});
  start_all();
  stop("s1");
  // What a foreign etcd does: it locks the database.
  const std::string db = node("s1").options.etcd_directory() + "/member/snap/db";
  const UniqueFd file(::open(db.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_THAT(refusal("s1"), HasSubstr("another etcd uses the data in"));
}

TEST_F(EngineStartTest, ALongPathIsRefused) {
  make_cluster({"s1"});
  node("s1").options.data_dir = folder() + "/" + std::string(100, 'x');
  EXPECT_THAT(refusal("s1"), HasSubstr("choose a shorter one"));
}

TEST_F(EngineStartTest, AnAddressInUseIsNamed) {
  make_cluster({"s1"});
  const UniqueFd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &length);
  Node& s1 = node("s1");
  s1.options.peer = s1.options.peer_listen = {"127.0.0.1", ntohs(address.sin_port)};
  s1.options.peers["s1"] = s1.options.peer;
  s1.options.start_timeout = 3s;
  EXPECT_THAT(refusal("s1"), HasSubstr("is in use by another program"));
}

// The mount lives and dies with the process that made it.
TEST_F(EngineStartTest, AFullDiskIsReported) {
  // Takes about 5 s: a real etcd starts on a disk of 30 MB, and fails as it reserves 64 MB for its
  // journal.
  const std::string data = folder() + "/small";
  std::filesystem::create_directory(data);
  std::vector<std::string> words{
      "unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=30m none \"$0\" && exec \"$@\"",
      data};
  for (const std::string& each : host_words(data)) words.push_back(each);
  ChildProcess host(words);
  EXPECT_THAT(host.read_line(), HasSubstr("the disk that holds " + data + "/engine/etcd is full"));
}

}  // namespace start_test
}  // namespace muster::testing
