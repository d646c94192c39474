#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/muster_program.h"
#include "tests/server/managed_scene.h"

namespace muster::testing {
namespace managed_test {

class ManagedTest : public ManagedScene {
 protected:
  static bool remove(Musterd& by, const std::string& id) {
    v1::RemoveServerRequest request;
    request.set_id(id);
    grpc::Status status;
    const bool removed = eventually(
        [&] {
          v1::RemoveServerResponse response;
          Context context;
          status = by.admin().RemoveServer(&context, request, &response);
          return status.ok();
        },
        40s);
    EXPECT_TRUE(removed) << status.error_message();
    return removed;
  }
};

// T02: servers are added and removed while clients write.
TEST_F(ManagedTest, ThreeServersAreOneClusterThatOutlivesALossAndTakesAFourthUnderLoad) {
  // Takes about 9 s: etcd admits the fourth server only when the others have been connected for 5
  // s, and the lease of 2 s may run out after the first kill.
  found(3);
  ASSERT_TRUE(writes(*servers_[1], "a"));
  Writer writer("w", {servers_[1].get(), servers_[2].get()});
  ASSERT_TRUE(writer.more(20));
  servers_[0]->kill();
  ASSERT_TRUE(writer.more(20));
  servers_[0]->start(40s);

  Musterd& fourth = add(3, {"--peers", peer(3), "--join", servers_[0]->address()});
  ASSERT_TRUE(writes(fourth, "by the fourth"));
  EXPECT_EQ(get(*servers_[2], "by the fourth"), "v");
  ASSERT_TRUE(writer.more(20));

  fourth.kill();
  ASSERT_TRUE(remove(*servers_[1], "s4"));
  ASSERT_TRUE(writer.more(20));
  expect_all({servers_[0].get(), servers_[1].get(), servers_[2].get()}, writer.finish());
}

// Takes about 10 s: etcd admits the wiped server only when the others have been connected for 5 s,
// and the lease of 2 s may run out after the last kill.
TEST_F(ManagedTest, AWipedServerComesBackWithEverything) {
  found(3);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(writes(*servers_[0], "k" + std::to_string(i)));
  servers_[1]->kill();
  std::filesystem::remove_all(data(1));
  ASSERT_TRUE(writes(*servers_[0], "while it was gone"));
  // Admission takes as long as etcd wants its members to have been connected.
  servers_[1]->start(60s);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get(*servers_[1], "k" + std::to_string(i)), "v");
  EXPECT_EQ(get(*servers_[1], "while it was gone"), "v");
  // It counts again: another one may be lost.
  servers_[2]->kill();
  EXPECT_TRUE(writes(*servers_[0], "last", 60s));
  EXPECT_EQ(get(*servers_[1], "last"), "v");
}

TEST_F(ManagedTest, OneServerAloneKeepsItsStateOverARestart) {
  Musterd& only = add(0, {"--peers", peers(1)});
  const Outcome added = run_muster({"server", "add", "s2", "--server", only.address()});
  EXPECT_NE(added.out.find("--engine managed --peers s2=HOST:PORT --join " + only.address()),
            std::string::npos)
      << added.out << added.err;
  ASSERT_TRUE(writes(only, "a"));
  EXPECT_EQ(only.terminate(), 0);
  only.start();
  EXPECT_EQ(get(only, "a"), "v");
}

TEST_F(ManagedTest, ARollingRestartLosesNothingWhileClientsWrite) {
  found(3);
  Writer writer("w", all());
  ASSERT_TRUE(writer.more(20));
  for (Musterd* each : all()) {
    EXPECT_EQ(each->terminate(), 0) << each->id();
    ASSERT_TRUE(writer.more(10)) << "while " << each->id() << " is away";
    each->start(40s);
  }
  ASSERT_TRUE(writer.more(20));
  expect_all(all(), writer.finish());
}

// Takes about 20 s: members find out by their own timeouts that the others are gone, and a server
// is called unreachable after 10 s.
TEST_F(ManagedTest, WhoHasNoQuorumSaysSoAndWhomToStart) {
  found(3);
  ASSERT_TRUE(writes(*servers_[0], "a"));
  // Only anyone who has announced itself is missed.
  ASSERT_TRUE(eventually([&] {
    v1::ListServersResponse known;
    Context asked;
    return servers_[0]->admin().ListServers(&asked, {}, &known).ok() && known.servers_size() == 3;
  }));
  servers_[1]->kill();
  servers_[2]->kill();
  const std::string reason = "no quorum: 1 of 3 servers up; start s2 or s3";
  EXPECT_TRUE(eventually([&] { return health(*servers_[0]).reason() == reason; }))
      << health(*servers_[0]).reason();
  EXPECT_FALSE(health(*servers_[0]).healthy());
  // The same of one that has just been started, and for people.
  servers_[0]->kill();
  servers_[0]->start_soon();
  EXPECT_TRUE(eventually([&] { return health(*servers_[0]).reason() == reason; }))
      << health(*servers_[0]).reason();
  const Outcome shown = run_muster({"health", "--server", servers_[0]->address()});
  EXPECT_EQ(shown.code, 1);
  EXPECT_EQ(shown.out, "not healthy: " + reason + "\n");
  servers_[1]->start(60s);
  EXPECT_TRUE(eventually([&] {
    const auto now = health(*servers_[0]);
    return now.healthy() && now.reason().starts_with("2 of 3 servers up; start s3");
  })) << health(*servers_[0]).reason();
}

// Takes about 7 s: five servers with their etcd start twice, and the lease of 2 s runs out after
// the kill of the leader and of all.
TEST_F(ManagedTest, FiveServersOutliveTheLossOfTwo) {
  found(5);
  Musterd* first = leader_of(all(), 60s);
  ASSERT_NE(first, nullptr);
  Musterd* second = others({first}).front();
  Writer writer("w", others({first, second}));
  ASSERT_TRUE(writer.more(20));
  first->kill();
  second->kill();
  ASSERT_TRUE(writer.more(20));
  first->start(60s);
  second->start(60s);
  expect_all(all(), writer.finish());
  // T03: and that of all.
  for (Musterd* each : all()) each->kill();
  for (Musterd* each : all()) each->start_soon();
  for (Musterd* each : all()) each->await(60s);
  expect_all({all().front(), all().back()}, writer.finish());
  EXPECT_TRUE(writes(*all().back(), "on"));
}

}  // namespace managed_test
}  // namespace muster::testing
