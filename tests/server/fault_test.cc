#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "muster/v1/observe.grpc.pb.h"
#include "platform/system_clock.h"
#include "tests/cli/muster_program.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"

namespace muster::testing {
namespace fault_test {

namespace fs = std::filesystem;

bool put_soon(Musterd& server, const std::string& key, const std::string& value) {
  return eventually([&] { return put(server, key, value, 2s).ok(); });
}

/// One server on a directory whose files are damaged behind its back.
class DamageTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string engine() const { return "file://" + (dir_.path() / "engine").string(); }
  /// The files of the log's objects whose path holds `part`, in order of their names.
  [[nodiscard]] std::vector<fs::path> objects(const std::string& part) const {
    std::vector<fs::path> found;
    for (const auto& each : fs::recursive_directory_iterator(dir_.path() / "engine")) {
      const std::string path = each.path();
      if (each.is_regular_file() && path.find("musterd") != std::string::npos &&
          path.find(part) != std::string::npos) {
        found.push_back(each.path());
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static void flip_a_bit(const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto middle = static_cast<std::streamoff>(fs::file_size(path) - 10);
    file.seekg(middle);
    const int byte = file.get();
    file.seekp(middle);
    file.put(static_cast<char>(byte ^ 4));
    ASSERT_TRUE(file.good()) << path;
  }
  Outcome log(const std::string& action, const Words& more = {}) {
    Words words{"log", action, "--engine", engine()};
    words.insert(words.end(), more.begin(), more.end());
    return run_muster(words);
  }
  /// Starts a server and expects it to end, naming an object.
  void expect_refused(const std::string& named) {
    Musterd server("refused", engine(), dir_.path(), {}, false);
    EXPECT_EQ(server.wait(), 70) << server.log();
    EXPECT_NE(server.log().find(named), std::string::npos) << server.log();
  }

  TempDir dir_;
};

TEST_F(DamageTest, ADamagedEntryIsNamedRefusedAndPutBackFromABackup) {
  const std::string backup = dir_.path() / "backup";
  {
    Musterd server("s1", engine(), dir_.path());
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(put_soon(server, "k" + std::to_string(i), "v"));
    ASSERT_EQ(run_muster({"backup", backup, "--server", server.address()}).code, 0);
    ASSERT_EQ(server.terminate(), 0);
  }
  EXPECT_EQ(log("inspect").code, 0);
  const auto entries = objects("0000");
  ASSERT_GE(entries.size(), 10U);
  flip_a_bit(entries[4]);
  expect_refused("musterd/log/0000");

  const Outcome seen = log("inspect", {"--json"});
  EXPECT_EQ(seen.code, 1);
  ASSERT_GE(seen.json()["findings"].size(), 1U) << seen.out;
  const std::string object = seen.json()["findings"][0]["object"];
  EXPECT_NE(object.find("musterd/log/0000"), std::string::npos);
  const Outcome alone = log("repair");
  EXPECT_EQ(alone.code, 1);
  EXPECT_NE(alone.err.find("--backup"), std::string::npos) << alone.err;
  const Outcome repaired = log("repair", {"--backup", backup});
  EXPECT_EQ(repaired.code, 0) << repaired.out << repaired.err;

  Musterd server("s1", engine(), dir_.path());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get(server, "k" + std::to_string(i)), "v");
  EXPECT_TRUE(put_soon(server, "new", "v"));
}

// Takes about 11 s: between two snapshots a leader lets 10 s pass (give_up_after of the log).
TEST_F(DamageTest, ADamagedSnapshotIsNamedRefusedAndRebuilt) {
  {
    Musterd server("s1", engine(), dir_.path(), {"--snapshot-entries", "10"});
    for (int i = 0; i < 35; ++i) ASSERT_TRUE(put_soon(server, "k" + std::to_string(i), "v"));
    // Two snapshots, which a leader makes some seconds apart, and entries after them.
    ASSERT_TRUE(eventually(
        [&] { return put_soon(server, "more", "v") && objects("snap").size() >= 4; }, 60s));
    ASSERT_TRUE(put_soon(server, "more", "last"));
    ASSERT_EQ(server.terminate(), 0);
  }
  ASSERT_EQ(log("inspect").code, 0);
  // The newest set has the last name.
  std::vector<fs::path> parts;
  for (const fs::path& each : objects("snap")) {
    if (each.string().find("head") == std::string::npos) parts.push_back(each);
  }
  ASSERT_GE(parts.size(), 2U);
  flip_a_bit(parts.back());
  expect_refused("musterd/snap/");
  EXPECT_EQ(log("inspect").code, 1);
  const Outcome repaired = log("repair");
  EXPECT_EQ(repaired.code, 0) << repaired.out << repaired.err;

  Musterd server("s1", engine(), dir_.path());
  for (int i = 0; i < 35; ++i) EXPECT_EQ(get(server, "k" + std::to_string(i)), "v");
  EXPECT_EQ(get(server, "more"), "last");
  EXPECT_TRUE(put_soon(server, "new", "v"));
}

/// Whether a decision says so.
bool remembers(Musterd& server, const std::string& words) {
  grpc::ClientContext context;
  v1::ExplainResponse answer;
  const grpc::Status status =
      v1::ObserveService::NewStub(server.channel())->Explain(&context, {}, &answer);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return std::any_of(answer.decisions().begin(), answer.decisions().end(), [&](const auto& each) {
    return each.text().find(words) != std::string::npos;
  });
}

// Takes about 62 s: the engine is away for a minute, until the copy that is shown is 60,000 ms old.
TEST(EngineOutageTest, ReadsGoOnAndSayHowOldTheyAreAndWritesComeBackByThemselves) {
  EtcdCluster etcd;
  const TempDir dir;
  Musterd s1("s1", etcd.url("m"), dir.path());
  Musterd s2("s2", etcd.url("m"), dir.path());
  ASSERT_TRUE(put_soon(s1, "k", "before"));
  ASSERT_TRUE(eventually([&] { return register_node(s2, node("n1")).ok(); }));
  for (Musterd* each : {&s1, &s2}) {
    ASSERT_TRUE(eventually([&] { return find(topology(*each, false), "n1").has_value(); }));
  }
  etcd.stop(0);
  const MonoTime stopped = boot_now();
  for (Musterd* each : {&s1, &s2}) {
    // Older than the lease, so nobody leads any more.
    EXPECT_TRUE(eventually([&] { return topology(*each, false).age_ms() > 4000; })) << each->id();
    EXPECT_TRUE(find(topology(*each, false), "n1").has_value()) << each->id();
    EXPECT_FALSE(health(*each).healthy());
    const grpc::Status refused = put(*each, "k", "during", 8s);
    EXPECT_FALSE(refused.ok());
    EXPECT_FALSE(refused.error_message().empty());
    // A deadline is the client's; what the server says itself is one of these.
    EXPECT_TRUE(refused.error_code() == grpc::StatusCode::UNAVAILABLE ||
                refused.error_code() == grpc::StatusCode::UNKNOWN)
        << refused.error_code() << ": " << refused.error_message();
  }
  EXPECT_LT(topology(s1, false).age_ms(),
            static_cast<std::uint64_t>(to_ms(boot_now() - stopped)) + 5000);
  // A minute in all.
  EXPECT_TRUE(eventually([&] { return topology(s2, false).age_ms() > 60'000; }, 90s));
  EXPECT_TRUE(find(topology(s1, false), "n1").has_value());
  etcd.cont(0);
  EXPECT_TRUE(put_soon(s1, "k", "after"));
  EXPECT_EQ(get(s2, "k"), "after");
  EXPECT_TRUE(eventually([&] { return topology(s2, false).age_ms() < 4000; }));
  EXPECT_TRUE(eventually([&] { return remembers(s1, "the engine is reachable again"); }));
}

}  // namespace fault_test
}  // namespace muster::testing
