// Servers of this release and of the next one on one log. The next one writes every put of a key
// below next/ as a kind of command that this release does not know (next.mutant).

#include <gtest/gtest.h>

#include <set>

#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {
namespace upgrade_test {

using grpc::StatusCode;

class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() { EXPECT_TRUE(put_soon(s1_, "kept", "v")); }

  static bool put_soon(Musterd& server, const std::string& key, const std::string& value,
                       Duration limit = 30s) {
    return eventually([&] { return put(server, key, value, 2s).ok(); }, limit);
  }
  std::vector<Musterd*> all() { return {&s1_, &s2_, &s3_}; }
  static void restart_as(Musterd& server, const std::string& program) {
    if (server.running()) {
      EXPECT_EQ(server.terminate(), 0);
    }
    server.use(program);
    server.start(30s);
  }
  static void make_leader(Musterd& wanted) {
    ASSERT_TRUE(eventually(
        [&] {
          if (health(wanted).raft_state() == v1::RAFT_STATE_LEADER) return true;
          v1::TransferLeadershipRequest request;
          request.set_to(wanted.id());
          v1::TransferLeadershipResponse response;
          Context context(2s);
          // Refused while nobody leads or the server is not known yet: asked again.
          [[maybe_unused]] const grpc::Status asked =
              wanted.admin().TransferLeadership(&context, request, &response);
          let_pass(500ms);
          return false;
        },
        60s));
  }
  /// The levels that the servers have announced, as `at` knows them.
  static std::multiset<std::uint64_t> levels(Musterd& at) {
    v1::ListServersResponse servers;
    Context context;
    std::multiset<std::uint64_t> result;
    if (!at.admin().ListServers(&context, {}, &servers).ok()) return result;
    for (const v1::ServerInfo& each : servers.servers()) result.insert(each.command_level());
    return result;
  }
  static bool announced(Musterd& at, const std::multiset<std::uint64_t>& wanted) {
    return eventually([&] { return levels(at) == wanted; }, 30s);
  }
  void expect_refused(Musterd& server, const std::string& named) {
    const grpc::Status refused = put(server, "next/early", "v");
    EXPECT_EQ(refused.error_code(), StatusCode::UNIMPLEMENTED) << refused.error_message();
    EXPECT_NE(refused.error_message().find("the server " + named), std::string::npos)
        << refused.error_message();
    EXPECT_EQ(get(server, "next/early"), std::nullopt);
    EXPECT_TRUE(put_soon(server, "old", "v")) << "everything else goes on";
  }
  /// It meets what it does not know: it ends, and says what to do.
  static void expect_stopped(Musterd& server) {
    EXPECT_EQ(server.wait(), 70) << server.log();
    EXPECT_NE(server.log().find("a newer server wrote this command; upgrade this server"),
              std::string::npos)
        << server.log();
  }

  const std::string now_ = MUSTERD_PROGRAM;
  const std::string next_ = MUSTERD_NEXT_PROGRAM;
  TempDir dir_;
  const std::string engine_ = "file://" + (dir_.path() / "engine").string();
  Musterd s1_{"s1", engine_, dir_.path()};
  Musterd s2_{"s2", engine_, dir_.path()};
  Musterd s3_{"s3", engine_, dir_.path()};
};

TEST_F(UpgradeTest, ANewCommandIsUsedWhenTheLastServerIsUpgradedAndStopsOneTakenBack) {
  restart_as(s1_, next_);
  restart_as(s2_, next_);
  make_leader(s1_);
  ASSERT_TRUE(announced(s1_, {3, 4, 4}));
  expect_refused(s1_, "s3");
  expect_refused(s3_, "s3");  // Passed on to the leader.

  restart_as(s3_, next_);
  ASSERT_TRUE(put_soon(s1_, "next/used", "v")) << "the last one has announced itself";
  for (Musterd* each : all()) {
    EXPECT_EQ(get(*each, "next/used"), "v") << each->id();
    EXPECT_EQ(get(*each, "kept"), "v") << each->id();
  }

  // From here there is no way back but the backup.
  ASSERT_EQ(s2_.terminate(), 0);
  Musterd taken_back("s2", engine_, dir_.path(), {}, false);
  expect_stopped(taken_back);
  restart_as(s2_, next_);
  EXPECT_EQ(get(s2_, "next/used"), "v");
}

TEST_F(UpgradeTest, ServersAreTakenBackOneByOneWhileNothingNewWasUsed) {
  for (Musterd* each : all()) restart_as(*each, next_);
  make_leader(s1_);
  ASSERT_TRUE(announced(s1_, {4, 4, 4}));
  ASSERT_TRUE(put_soon(s1_, "by the next release", "v"));

  restart_as(s3_, now_);
  ASSERT_TRUE(announced(s1_, {3, 4, 4}));
  expect_refused(s1_, "s3");
  restart_as(s2_, now_);
  restart_as(s1_, now_);
  ASSERT_TRUE(announced(s2_, {3, 3, 3}));
  // To this release the key is like any other.
  ASSERT_TRUE(put_soon(s3_, "next/ordinary", "v"));
  for (Musterd* each : all()) {
    for (const char* key : {"kept", "by the next release", "next/ordinary"}) {
      EXPECT_EQ(get(*each, key), "v") << key << " on " << each->id();
    }
  }
}

// A server that is not there holds nothing up; when it is back it must not go on as if it had
// understood.
TEST_F(UpgradeTest, AnOldServerThatWasAwayStopsWhenItMeetsTheNewCommand) {
  // Takes about 11 s: the frozen server counts until it has been silent for 10 s (kAbsentAfter).
  ASSERT_TRUE(announced(s1_, {3, 3, 3})) << "it is known, and counts until it was long silent";
  s3_.freeze();
  restart_as(s1_, next_);
  restart_as(s2_, next_);
  make_leader(s1_);
  ASSERT_TRUE(put_soon(s1_, "next/used", "v", 60s));
  s3_.thaw();
  expect_stopped(s3_);
  EXPECT_TRUE(put_soon(s2_, "on", "v"));
}

}  // namespace upgrade_test
}  // namespace muster::testing
