// A topology that is larger than gRPC's usual limit of 4 MB for a message.

#include <gtest/gtest.h>

#include <fstream>

#include "core/cluster/snapshot.h"
#include "core/log/manifest.h"
#include "core/membership/testing.h"
#include "log/archive.h"
#include "log/keys.h"
#include "tests/cli/muster_program.h"
#include "tests/server/musterd.h"

namespace muster::testing {
namespace large_topology_test {

constexpr int kNodes = 100'000;

/// A backup that holds so many nodes, made without a server that took them one by one.
void write_backup(const std::string& path) {
  constexpr LogTime kNow{};
  cluster::ClusterState state;
  for (int i = 0; i < kNodes; ++i) {
    const cluster::Command command =
        cluster::ChangeTopology{membership::testing::registration("node-" + std::to_string(i))};
    const auto applied =
        state.apply(cluster::encode(command), {static_cast<std::uint64_t>(i) + 1, 0, kNow});
    ASSERT_TRUE(applied && applied->answer);
  }
  rlog::SnapshotHead head;
  head.position = rlog::beginning("made-up");
  head.position.index = rlog::Index(kNodes);
  head.position.epoch = Epoch(1);
  head.position.time = kNow;
  const Nonce nonce("n");
  const std::string set = rlog::Keys{""}.snapshot(head.position.index, head.position.epoch, nonce);
  std::ofstream file(path, std::ios::binary);
  rlog::ArchiveWriter writer;
  std::vector<std::string> parts;
  std::uint64_t bytes = 0;
  cluster::SnapshotParts source(state);
  while (auto part = source.next()) {
    head.parts.push_back({part->size(), rlog::sha256(*part)});
    bytes += part->size();
    parts.push_back(std::move(*part));
  }
  const std::string head_bytes = rlog::encode_snapshot_head(head);
  rlog::Manifest manifest;
  manifest.log_id = manifest.origin = "made-up";
  manifest.nonce = nonce;
  manifest.latest = rlog::SnapshotRef{head.position, nonce, rlog::sha256(head_bytes), bytes, {}};
  // As every backup: what is in the snapshot is not there as entries.
  manifest.previous = manifest.latest;
  manifest.floor = head.position.index;
  file << writer.object(rlog::Keys::head(set), head_bytes);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    file << writer.object(rlog::Keys::part(set, i), parts[i]);
  }
  file << writer.object(rlog::ArchiveWriter::kManifest, rlog::encode_manifest(manifest));
  file << writer.end();
  ASSERT_TRUE(file.flush());
}

// Takes about 17 s, and twice that beside other tests: 100,000 nodes are registered, restored by a
// real server, and sent twice as more than 10 MB of JSON, which is read.
TEST(LargeTopologyTest, AHundredThousandNodesReachOurClients) {
  const TempDir dir;
  const std::string backup = dir.path() / "backup";
  const std::string engine = "file://" + (dir.path() / "engine").string();
  ASSERT_NO_FATAL_FAILURE(write_backup(backup));
  const Outcome restored = run_muster({"restore", backup, "--engine", engine});
  ASSERT_EQ(restored.code, 0) << restored.err;
  Musterd server("s1", engine, dir.path(), {}, false);
  server.await(60s);

  const Outcome shown =
      run_muster({"topology", "--linearizable", "--json", "--server", server.address()});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_GT(shown.out.size(), 10'000'000U);
  EXPECT_EQ(shown.json()["object_nodes"].size(), static_cast<std::size_t>(kNodes));

  // A watch begins with the same.
  const std::string errors = dir.path() / "errors";
  ChildProcess watch(
      prepared({"topology", "--watch", "--json", "--server", server.address()}, errors));
  const std::string first = watch.read_line();
  EXPECT_TRUE(nlohmann::json::accept(first));
  EXPECT_NE(first.find("node-99999"), std::string::npos);
  watch.kill();

  // A client with gRPC's usual limit is told, not cut off in silence: docs/operating.md says what
  // to set.
  v1::GetTopologyResponse response;
  Context context(60s);
  const grpc::Status status =
      server.coordinator().GetTopology(&context, v1::GetTopologyRequest{}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  // Everything else is as usual.
  ASSERT_TRUE(eventually([&] { return register_node(server, node("one-more")).ok(); }, 60s));
  EXPECT_EQ(server.terminate(), 0);
}

}  // namespace large_topology_test
}  // namespace muster::testing
