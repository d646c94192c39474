// What people configure by mistake, and what clients meet when a server dies: real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/cli/muster_program.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/tcp_proxy.h"

namespace muster::testing {
namespace mistakes_test {

using ::testing::HasSubstr;
using ::testing::Not;

class MistakesTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string engine() const { return "file://" + (dir_.path() / "engine").string(); }
  /// Starts one that must not serve, and answers with what it says when it ends. It logs in a
  /// directory of its own.
  std::string refusal(const std::string& id, const std::vector<std::string>& words) {
    const TempDir logs;
    try {
      const Musterd server(id, engine(), logs.path(), words);
    } catch (const std::runtime_error& ended) {
      return ended.what();
    }
    return "it serves";
  }
  static bool put_soon(Musterd& server, const std::string& key) {
    return eventually([&] { return put(server, key, "v", 2s).ok(); });
  }

  TempDir dir_;
};

TEST_F(MistakesTest, ADataDirectoryIsOfOneServer) {
  const std::string data = dir_.path() / "data";
  {
    Musterd first("s1", engine(), dir_.path(), {"--data-dir", data});
    ASSERT_TRUE(put_soon(first, "k"));
    first.terminate();
    first.start();
  }
  EXPECT_THAT(refusal("s2", {"--data-dir", data}),
              HasSubstr("--data-dir " + data + " belongs to server s1, and this is server s2"));
}

TEST_F(MistakesTest, ASecondServerWithAnIdInUseIsRefused) {
  Musterd first("s1", engine(), dir_.path());
  ASSERT_TRUE(put_soon(first, "k"));
  EXPECT_THAT(refusal("s1", {}), HasSubstr("server s1 is up at " + first.address()));
  EXPECT_TRUE(put_soon(first, "l")) << "the first one serves on";
  // Once it is gone, another host may take the id.
  first.kill();
  const TempDir logs;
  Musterd moved("s1", engine(), logs.path());
  EXPECT_TRUE(put_soon(moved, "m"));
}

TEST_F(MistakesTest, TwoClustersOnOneEngineDoNotMerge) {
  Musterd red("s1", engine(), dir_.path(), {"--cluster", "red"});
  ASSERT_TRUE(put_soon(red, "k"));
  EXPECT_THAT(refusal("s2", {"--cluster", "blue"}),
              HasSubstr("the engine holds the log of cluster red, but this server has --cluster "
                        "blue"));
  EXPECT_THAT(refusal("s2", {}), HasSubstr("the engine holds the log of cluster red"));
  Musterd second("s3", engine(), dir_.path(), {"--cluster", "red"});
  EXPECT_TRUE(put_soon(second, "l"));
}

TEST_F(MistakesTest, AReloadNamesWhatItDoesNotTakeOver) {
  const std::string config = dir_.path() / "musterd.yaml";
  const auto write = [&](const std::string& text) { std::ofstream(config) << text; };
  write("limits-calls: 900\nlease-timeout: 2s\n");
  Musterd server("s1", engine(), dir_.path(), {"--config", config, "--limits", "on"});
  write("limits-calls: 800\n");
  server.reload();
  ASSERT_TRUE(eventually([&] { return server.log().find("lease-timeout") != std::string::npos; }));
  EXPECT_THAT(server.log(), HasSubstr("not applied; restart this server for these options"));
  EXPECT_THAT(server.log(), Not(HasSubstr("limits-calls")));
}

TEST_F(MistakesTest, ABackupIsTakenWhileTheLeaderDies) {
  std::vector<std::unique_ptr<Musterd>> servers;
  std::vector<Musterd*> all;
  for (const char* id : {"s1", "s2", "s3"}) {
    servers.push_back(std::make_unique<Musterd>(id, engine(), dir_.path()));
    all.push_back(servers.back().get());
  }
  ASSERT_TRUE(put_soon(*all[0], "k"));
  Musterd* leader = leader_of(all);
  ASSERT_NE(leader, nullptr);
  std::string others;
  for (const Musterd* each : all) {
    if (each != leader) others += (others.empty() ? "" : ",") + each->address();
  }
  // The others name the dead one as their leader until its lease has ended.
  leader->kill();
  const std::string file = dir_.path() / "backup";
  const Outcome saved = run_muster({"backup", file, "--server", others});
  EXPECT_EQ(saved.code, 0) << saved.err;
  EXPECT_EQ(run_muster({"restore", file, "--engine", "file://" + file + ".dir"}).code, 0);
}

constexpr std::size_t kValueBytes = 40'000;  ///< More than anything else in the engine.

/// What a client hears of a write, and who says so.
struct Heard {
  grpc::Status status;
  std::string server;  ///< Of the trailing metadata `muster-server`; empty: no server says so.
};
Heard write(Musterd& server, const std::string& key, Duration timeout) {
  v1::StorePutRequest request;
  request.set_key(key);
  request.set_value(std::string(kValueBytes, 'v'));
  v1::StorePutResponse response;
  Context context(timeout);
  Heard heard;
  heard.status = server.store().Put(&context, request, &response);
  const auto& trailer = context.GetServerTrailingMetadata();
  if (const auto found = trailer.find("muster-server"); found != trailer.end()) {
    heard.server = std::string(found->second.data(), found->second.size());
  }
  return heard;
}

// Both are UNAVAILABLE; only one of them is a promise.
TEST_F(MistakesTest, OnlyAServersOwnWordThatNothingWasDoneCarriesItsName) {
  EtcdCluster etcd;
  TcpProxy way;
  const std::string endpoint = etcd.endpoint(0);
  way.forward_to(std::stoi(endpoint.substr(endpoint.find(':') + 1)));
  Musterd server("s1", "etcd://127.0.0.1:" + std::to_string(way.port()) + "/m", dir_.path());
  ASSERT_TRUE(put_soon(server, "k"));
  way.cut(false, true);
  Heard heard;
  std::thread client([&] { heard = write(server, "in flight", 20s); });
  // The engine has it, and its answer does not arrive.
  EXPECT_TRUE(eventually([&] {
    return etcd.ctl(0, {"get", "--prefix", "m", "--print-value-only"}).size() > kValueBytes;
  }));
  server.kill();
  client.join();
  EXPECT_EQ(heard.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(heard.server, "");
  way.mend();
  server.start();
  EXPECT_TRUE(eventually([&] { return get(server, "in flight").has_value(); }));
  etcd.stop(0);
  ASSERT_TRUE(eventually([&] {
    heard = write(server, "refused", 1s);
    return heard.status.error_code() == grpc::StatusCode::UNAVAILABLE;
  }));
  EXPECT_EQ(heard.server, "s1");
  etcd.cont(0);
}

}  // namespace mistakes_test
}  // namespace muster::testing
