#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/cli/muster_program.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"

namespace muster::testing {
namespace backup_move_test {

/// A server on a directory, with state in it.
class BackupTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string dir_url(const std::string& name) const {
    return "file://" + (dir_.path() / name).string();
  }
  [[nodiscard]] std::string file(const std::string& name) const { return dir_.path() / name; }
  static bool put_soon(Musterd& server, const std::string& key, const std::string& value) {
    return eventually([&] { return put(server, key, value, 2s).ok(); });
  }
  void fill(Musterd& server) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(put_soon(server, "k" + std::to_string(i), "v" + std::to_string(i)));
    }
    for (const char* id : {"n1", "n2", "n3"}) {
      ASSERT_TRUE(register_node(server, node(id)).ok());
      ASSERT_TRUE(heartbeat(server, id).ok());
    }
    ASSERT_TRUE(eventually([&] { return health(server).active_nodes() == 3; }));
  }
  void expect_filled(Musterd& server, std::uint64_t version) {
    const auto shown = topology(server);
    EXPECT_EQ(shown.version(), version);
    for (const char* id : {"n1", "n2", "n3"}) EXPECT_TRUE(find(shown, id)) << id;
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(get(server, "k" + std::to_string(i)), "v" + std::to_string(i));
    }
  }
  static std::uint64_t revision(Musterd& server, const std::string& key) {
    v1::StoreGetRequest request;
    request.set_key(key);
    v1::StoreGetResponse response;
    Context context;
    EXPECT_TRUE(server.store().Get(&context, request, &response).ok());
    return response.object().revision();
  }
  static int server_count(Musterd& server) {
    const Outcome list = run_muster({"server", "list", "--server", server.address()});
    return static_cast<int>(std::count(list.out.begin(), list.out.end(), '\n')) - 1;
  }
  static Outcome move(Musterd& server, const std::string& target) {
    return run_muster({"move", "--to", target, "--server", server.address()});
  }

  TempDir dir_;
};

TEST_F(BackupTest, ABackupOfALiveServerIsServedAsItWasByAnother) {
  Musterd live("s1", dir_url("a"), dir_.path(), {"--snapshot-entries", "10"});
  fill(live);
  const std::uint64_t version = topology(live).version();
  const std::uint64_t epoch = health(live).raft_term();
  const std::uint64_t old_revision = revision(live, "k7");
  const Outcome saved = run_muster({"backup", file("b"), "--server", live.address(), "--json"});
  ASSERT_EQ(saved.code, 0) << saved.err;
  // What comes after a backup is not in it.
  ASSERT_TRUE(put_soon(live, "later", "x"));

  EtcdCluster etcd;
  for (const std::string& engine : {dir_url("b-dir"), etcd.url("restored")}) {
    const Outcome restored = run_muster({"restore", file("b"), "--engine", engine});
    ASSERT_EQ(restored.code, 0) << restored.err;
    Musterd again("r1", engine, dir_.path());
    expect_filled(again, version);
    EXPECT_EQ(get(again, "later"), std::nullopt);
    EXPECT_EQ(revision(again, "k7"), old_revision);
    ASSERT_TRUE(put_soon(again, "new", "x"));
    EXPECT_GT(revision(again, "new"), old_revision);
    EXPECT_GT(health(again).raft_term(), epoch) << "epochs count on";
    const Outcome twice = run_muster({"restore", file("b"), "--engine", engine});
    EXPECT_EQ(twice.code, 1);
    EXPECT_NE(twice.err.find("holds another log"), std::string::npos) << twice.err;
  }
}

// The restored log may lack what was acknowledged after the backup: nobody who has served the old
// one takes it for that.
TEST_F(BackupTest, WhoServedTheOldLogServesARestoredOneOnlyWhenToldToForget) {
  const std::vector<std::string> words{"--data-dir", file("data")};
  {
    Musterd live("s1", dir_url("a"), dir_.path(), words);
    ASSERT_TRUE(put_soon(live, "k", "v"));
    ASSERT_EQ(run_muster({"backup", file("b"), "--server", live.address()}).code, 0);
  }
  ASSERT_EQ(run_muster({"restore", file("b"), "--engine", dir_url("c")}).code, 0);
  const std::string kept = file("data") + "/log-id";
  {
    Musterd refused("s1", dir_url("c"), dir_.path(), words, false);
    EXPECT_EQ(refused.wait(), 70);
    EXPECT_NE(refused.log().find("remove " + kept), std::string::npos) << refused.log();
  }
  ASSERT_TRUE(std::filesystem::remove(kept));
  Musterd again("s1", dir_url("c"), dir_.path(), words);
  EXPECT_EQ(get(again, "k"), "v");
  ASSERT_TRUE(put_soon(again, "new", "x"));
  EXPECT_TRUE(std::filesystem::exists(kept)) << "from now on it knows this one";
}

TEST_F(BackupTest, ADamagedBackupIsRefusedBeforeAnythingIsWritten) {
  Musterd live("s1", dir_url("a"), dir_.path());
  ASSERT_TRUE(put_soon(live, "k", "v"));
  ASSERT_EQ(run_muster({"backup", file("b"), "--server", live.address()}).code, 0);
  {
    std::fstream damaged(file("b"), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(200);
    damaged.put('\x7f');
  }
  const Outcome refused = run_muster({"restore", file("b"), "--engine", dir_url("c")});
  EXPECT_EQ(refused.code, 64);
  EXPECT_NE(refused.err.find(file("b")), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "c"));
  EXPECT_EQ(run_muster({"restore", file("none"), "--engine", dir_url("c")}).code, 64);
  EXPECT_EQ(run_muster({"restore", file("b"), "--engine", "managed"}).code, 64);
}

TEST_F(BackupTest, ABackupIsForItsOwnerOnlyAndARestoreTakesNothingElse) {
  Musterd live("s1", dir_url("a"), dir_.path());
  ASSERT_TRUE(put_soon(live, "k", "v"));
  std::ofstream(file("b.part")) << "left behind, and readable by others";
  ASSERT_EQ(run_muster({"backup", file("b"), "--server", live.address()}).code, 0);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(file("b")).permissions(),
            perms::owner_read | perms::owner_write);
  for (const std::string& engine : {"muster://" + live.address() + "/p", std::string("memory:")}) {
    const Outcome refused = run_muster({"restore", file("b"), "--engine", engine});
    EXPECT_EQ(refused.code, 64) << engine;
    EXPECT_NE(refused.err.find("--engine is file:///dir"), std::string::npos) << refused.err;
  }
  std::ofstream(file("b"), std::ios::binary | std::ios::app) << "x";
  const Outcome longer = run_muster({"restore", file("b"), "--engine", dir_url("c")});
  EXPECT_EQ(longer.code, 64);
  EXPECT_NE(longer.err.find("followed by other bytes"), std::string::npos) << longer.err;
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "c"));
}

TEST_F(BackupTest, AManagedEngineIsRestoredByItsServer) {
  Musterd live("s1", dir_url("a"), dir_.path());
  fill(live);
  const std::uint64_t version = topology(live).version();
  ASSERT_EQ(run_muster({"backup", file("b"), "--server", live.address()}).code, 0);
  const std::vector<std::string> words{"--peers", "m1=127.0.0.1:" + std::to_string(free_port()),
                                       "--data-dir", file("m1")};
  std::vector<std::string> restoring = words;
  restoring.insert(restoring.end(), {"--restore", file("b")});
  Musterd filling("m1", "managed", dir_.path(), restoring, false);
  EXPECT_EQ(filling.wait(), 0) << filling.log();
  Musterd managed("m1", "managed", dir_.path(), words);
  expect_filled(managed, version);
  ASSERT_TRUE(put_soon(managed, "new", "x"));
}

TEST_F(BackupTest, AMoveTakesEveryAcknowledgedWriteAlong) {
  Musterd first("s1", dir_url("a"), dir_.path(), {"--snapshot-entries", "10"});
  fill(first);
  const std::uint64_t version = topology(first).version();
  const std::uint64_t epoch = health(first).raft_term();
  EtcdCluster etcd;
  const std::string target = etcd.url("moved");

  EXPECT_EQ(move(first, "managed").code, 64);
  EXPECT_EQ(move(first, "etcd://root:secret@127.0.0.1:1/x").code, 64);
  const Outcome to_itself = move(first, dir_url("a"));
  EXPECT_EQ(to_itself.code, 1) << to_itself.err;
  EXPECT_TRUE(put_soon(first, "still", "here")) << "what was refused has changed nothing";

  // Someone writes all the while; what was acknowledged must be there afterwards.
  std::atomic<bool> stop{false};
  std::vector<std::string> acknowledged;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      const std::string key = "w/" + std::to_string(i);
      if (put(first, key, "x", 1s).ok()) acknowledged.push_back(key);
    }
  });
  EXPECT_TRUE(eventually([&] { return get(first, "w/20").has_value(); }));
  const Outcome moved = move(first, target);
  EXPECT_EQ(first.wait(), 70);
  stop = true;
  writer.join();
  ASSERT_EQ(moved.code, 0) << moved.err;
  EXPECT_NE(first.log().find("the log has moved to " + target), std::string::npos) << first.log();

  Musterd there("s1", target, dir_.path());
  expect_filled(there, version);
  EXPECT_EQ(get(there, "still"), "here");
  for (const std::string& key : acknowledged) EXPECT_EQ(get(there, key), "x") << key;
  EXPECT_GE(acknowledged.size(), 20U);
  ASSERT_TRUE(put_soon(there, "new", "x"));
  EXPECT_GT(health(there).raft_term(), epoch);

  // The engine that was left takes nothing more, and says where to go.
  Musterd late("s2", dir_url("a"), dir_.path(), {}, false);
  EXPECT_EQ(late.wait(), 70);
  EXPECT_NE(late.log().find("start this server with --engine " + target), std::string::npos)
      << late.log();
}

TEST_F(BackupTest, AMoveToAPlaceThatIsNotEmptyIsRefused) {
  Musterd first("s1", dir_url("a"), dir_.path());
  ASSERT_TRUE(put_soon(first, "k", "v"));
  std::filesystem::create_directory(dir_.path() / "full");
  std::ofstream(dir_.path() / "full" / "passwd") << "root";
  const Outcome full = move(first, dir_url("full"));
  EXPECT_EQ(full.code, 1) << full.err;
  EXPECT_NE(full.err.find("is not empty: passwd exists"), std::string::npos) << full.err;
  EtcdCluster etcd;
  etcd.ctl(0, {"put", "target/theirs", "x"});
  const Outcome used = move(first, etcd.url("target"));
  EXPECT_EQ(used.code, 1) << used.err;
  EXPECT_NE(used.err.find("is not empty: it holds theirs"), std::string::npos) << used.err;
  EXPECT_TRUE(put_soon(first, "still", "here"));
}

TEST_F(BackupTest, EveryServerEndsAndNamesTheNewEngineWhicheverIsAsked) {
  EtcdCluster etcd;
  Musterd s1("s1", etcd.url("m"), dir_.path());
  Musterd s2("s2", etcd.url("m"), dir_.path());
  fill(s1);
  const std::uint64_t version = topology(s1).version();
  ASSERT_TRUE(eventually([&] { return health(s2).leader_id() == health(s1).leader_id(); }));
  Musterd& follower = health(s1).leader_id() == "s1" ? s2 : s1;
  const std::string target = dir_url("moved");
  const Outcome moved = move(follower, target);
  ASSERT_EQ(moved.code, 0) << moved.err;
  for (Musterd* each : {&s1, &s2}) {
    EXPECT_EQ(each->wait(), 70) << each->id();
    EXPECT_NE(each->log().find("start this server with --engine " + target), std::string::npos)
        << each->log();
  }
  Musterd there("s3", target, dir_.path());
  expect_filled(there, version);
  ASSERT_TRUE(put_soon(there, "new", "x"));
}

// A restored log names servers that may never come back. A young term does not know which have
// gone: the move waits until it does.
TEST_F(BackupTest, AServerThatHasGoneIsNotWaitedForEvenByAYoungTerm) {
  {
    Musterd s1("s1", dir_url("a"), dir_.path());
    Musterd s2("s2", dir_url("a"), dir_.path());
    fill(s1);
    ASSERT_TRUE(eventually([&] { return server_count(s1) == 2; }));
    ASSERT_EQ(run_muster({"backup", file("b"), "--server", s1.address()}).code, 0);
  }
  ASSERT_EQ(run_muster({"restore", file("b"), "--engine", dir_url("restored")}).code, 0);
  Musterd alone("s3", dir_url("restored"), dir_.path());
  ASSERT_TRUE(eventually([&] { return health(alone).leader_id() == "s3"; }));
  const std::string target = dir_url("moved");
  const Outcome moved = move(alone, target);
  ASSERT_EQ(moved.code, 0) << moved.err;
  EXPECT_EQ(alone.wait(), 70);
  Musterd there("s3", target, dir_.path());
  ASSERT_TRUE(put_soon(there, "new", "x"));
}

TEST_F(BackupTest, AMoveThatACrashInterruptedIsFinishedByTheNextServer) {
  EtcdCluster etcd;
  const std::string target = etcd.url("moved");
  Musterd first("s1", dir_url("a"), dir_.path(), {"--request-timeout", "300ms"});
  fill(first);
  const std::uint64_t version = topology(first).version();
  // Killed right after the decision: the copy is anywhere between not begun and done.
  std::thread mover([&] { [[maybe_unused]] const Outcome cut_off = move(first, target); });
  EXPECT_TRUE(eventually([&] { return first.log().find("log sealed") != std::string::npos; }));
  first.kill();
  mover.join();

  Musterd next("s2", dir_url("a"), dir_.path(), {}, false);
  EXPECT_EQ(next.wait(), 70);
  EXPECT_NE(next.log().find("the log has moved to " + target), std::string::npos) << next.log();
  Musterd there("s1", target, dir_.path());
  expect_filled(there, version);
  ASSERT_TRUE(put_soon(there, "new", "x"));
}

}  // namespace backup_move_test
}  // namespace muster::testing
