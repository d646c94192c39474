#include "tests/compat/samples.h"

#include <cctype>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "core/cluster/cluster_state.h"
#include "core/cluster/commands.h"
#include "core/cluster/snapshot.h"
#include "core/election/records.h"
#include "core/log/entry.h"
#include "core/log/manifest.h"
#include "core/membership/testing.h"
#include "core/membership/wire.h"
#include "elector/control.h"
#include "log/archive.h"

namespace muster::compat {
namespace {

using membership::testing::at;
using membership::testing::registration;
using membership::testing::service_spec;
using membership::testing::spec;
using membership::testing::uuid;
using membership::testing::wall;

/// A value that is encoded to a string and decoded to a Result.
template <typename T, typename Decode>
Sample sample(std::string file, const T& value, std::string bytes, Decode decode) {
  return {std::move(file), std::move(bytes), [value, decode](const std::string& stored) {
            const auto read = decode(stored);
            if (!read) return "is refused: " + read.error().message;
            return std::string(*read == value ? "" : "reads as something else");
          }};
}

Sample command(const std::string& name, const cluster::Command& value) {
  return sample("command-" + name + ".hex", value, cluster::encode(value),
                [](const std::string& bytes) { return cluster::decode(bytes); });
}

void add_commands(std::vector<Sample>& all) {
  using namespace membership;
  const Observation seen{NodeId("n1"), Generation(uuid(1)), at(5), 7};
  const std::pair<const char*, Command> changes[] = {
      {"register", registration("n1")},
      {"deregister", DeregisterNode{NodeId("n1"), Generation(uuid(1)), {}}},
      {"heartbeats", BatchHeartbeat{3, {{0, NodeState::kActive}, {200, NodeState::kDraining}}, {}}},
      {"suspect", MarkSuspect{seen, {}}},
      {"down", MarkDown{seen, {}}},
      {"remove-joining", RemoveJoining{seen, {}}},
      {"drain", Drain{NodeId("n1"), true, {}}},
      {"ring", SetRingConfig{{32, 5, {}}, {}}},
      {"set-drain", SetDrain{NodeId("n1"), true, {}}},
      {"undrain", SetDrain{NodeId("n1"), false, {}}},
      {"register-service", registration_of(service_spec("n1", "search", {{"zone", "b"}}))},
      {"register-tagged", registration_of(service_spec("n1", "object", {{"zone", "b"}}))},
  };
  for (const auto& [name, change] : changes) {
    all.push_back(command(name, cluster::ChangeTopology{change}));
  }
  using namespace cluster;
  all.push_back(command(
      "put",
      StorePut{"a/b", std::string("v\0w", 3), Absent{}, StoreGuard{"g", AtRevision{8}}, {}}));
  all.push_back(command("remove", StoreRemove{"a/b", AtRevision{65537}, {}}));
  all.push_back(command("announce", AnnounceServer{"s1", "127.0.0.1:9000", "0.1.0", 1, {}}));
  all.push_back(command("forget", ForgetServer{"s1", {}}));
  all.push_back(
      command("note", Note{DecisionKind::kBrake, "brake", Why::kBegan, "3 wait", "ann", {}}));
  const Cause cause{wall(1), 46s, {45s, 90s, 2, true}, 100s, 90s, 3, 1};
  all.push_back(
      command("suspect-with-cause", ChangeTopology{MarkSuspect{seen, {}}, {"ann", cause}}));
}

rlog::Position position() {
  return {rlog::Index(41),       Epoch(3),
          Incarnation("run-1"),  at(1),
          rlog::sha256("chain"), rlog::Seal{"move-1", "etcd://h:2379/p"}};
}

Sample entry(const std::string& name, rlog::EntryKind kind, std::vector<std::string> commands,
             std::optional<rlog::Seal> seal, WallTime label = wall(2)) {
  const rlog::EntryHeader header{
      rlog::Index(42), Epoch(3), Incarnation("run-1"), Nonce("n-1"), at(2),
      label,           kind,     rlog::sha256("chain")};
  std::string bytes = rlog::encode_entry(header, commands, seal);
  const auto check = [=](const std::string& stored) -> std::string {
    const auto read = rlog::decode_entry(stored);
    if (!read) return "is refused: " + read.error().message;
    const rlog::EntryHeader& h = read->header;
    const bool equal =
        h.index == header.index && h.epoch == header.epoch && h.incarnation == header.incarnation &&
        h.nonce == header.nonce && h.time == header.time && h.wall == label && h.kind == kind &&
        h.previous == header.previous &&
        std::vector<std::string>(read->commands.begin(), read->commands.end()) == commands &&
        read->seal == seal && read->chain == rlog::digest_at_end(stored);
    return equal ? "" : "reads as something else";
  };
  return {"entry-" + name + ".hex", std::move(bytes), check};
}

void add_log(std::vector<Sample>& all) {
  all.push_back(
      entry("commands", rlog::EntryKind::kCommands, {"one", std::string("\0two", 4)}, {}));
  all.push_back(entry("barrier", rlog::EntryKind::kBarrier, {}, {}));
  all.push_back(entry("labelled", rlog::EntryKind::kCommands, {"one"}, {}, wall(3600)));
  all.push_back(entry("seal", rlog::EntryKind::kSeal, {}, rlog::Seal{"move-1", "file:///d"}));
  const rlog::SnapshotRef ref{position(), Nonce("n-2"), rlog::sha256("head"), 1234, {}};
  rlog::Manifest manifest{"log-1",         "log-0",  Nonce("n-3"),         true, ref, ref,
                          rlog::Index(12), "move-2", {"move-0", "move-1"}, {},   {}};
  const auto read_manifest = [](const std::string& bytes) { return rlog::decode_manifest(bytes); };
  all.push_back(sample("manifest.hex", manifest, rlog::encode_manifest(manifest), read_manifest));
  manifest.cluster = "red";
  all.push_back(
      sample("manifest-named.hex", manifest, rlog::encode_manifest(manifest), read_manifest));
  const rlog::SnapshotHead head{position(), {{10, rlog::sha256("a")}, {20, rlog::sha256("b")}}};
  all.push_back(sample("snapshot-head.hex", head, rlog::encode_snapshot_head(head),
                       [](const std::string& bytes) { return rlog::decode_snapshot_head(bytes); }));
}

/// A state that every kind of command has helped to make.
cluster::ClusterState state() {
  using namespace membership;
  cluster::ClusterState made;
  std::uint64_t index = 0;
  const auto apply = [&](const cluster::Command& each) {
    const auto applied =
        made.apply(cluster::encode(each), {++index, 0, at(static_cast<int>(index))});
    MUSTER_CHECK(applied && applied->answer);
  };
  for (const char* id : {"n1", "n2", "n3"}) apply(cluster::ChangeTopology{registration(id)});
  for (const char* id : {"n1", "n2"}) {
    apply(cluster::ChangeTopology{membership::testing::beat(made.topology(), id)});
  }
  apply(cluster::ChangeTopology{MarkSuspect{membership::testing::seen(made.topology(), "n2"), {}}});
  apply(cluster::ChangeTopology{Drain{NodeId("n1"), false, {}}});
  apply(cluster::ChangeTopology{DeregisterNode{NodeId("n3"), {}, {}}});
  apply(cluster::ChangeTopology{SetRingConfig{{32, 5, {}}, {}}});
  apply(cluster::StorePut{"a/b", "v", cluster::Absent{}, {}, {}});
  apply(cluster::StorePut{"a/c", std::string("\0", 1), cluster::Absent{}, {}, {}});
  apply(cluster::AnnounceServer{"s1", "127.0.0.1:9000", "0.1.0", 1, {}});
  return made;
}

std::string parts(cluster::ClusterState& of) {
  std::string bytes;
  cluster::SnapshotParts each(of);
  while (auto part = each.next()) bytes += *part;
  return bytes;
}

/// The same without the nodes that were removed, which were not always remembered.
std::string without_departed(const std::string& snapshot) {
  membership::WireWriter out;
  for (membership::WireReader in(snapshot); in.next();) {
    std::string record(in.message());
    if (in.field() == 1) {
      std::string kept, dropped;
      for (membership::WireReader header(record); header.next();) {
        header.keep(header.field() == 8 ? dropped : kept);
      }
      record = kept;
    }
    out.message(in.field(), record);
  }
  return out.bytes();
}

/// The same, when two leaders have shown their clocks and an operator has drained a node.
cluster::ClusterState later_state() {
  cluster::ClusterState made = state();
  made.pass_time(at(100), wall(3600));
  made.pass_time(at(200), wall(200));
  const cluster::Command drain =
      cluster::ChangeTopology{membership::SetDrain{NodeId("n1"), true, {}}};
  MUSTER_CHECK(made.apply(cluster::encode(drain), {100, 0, at(200)}));
  return made;
}

Sample snapshot(std::string file, const std::string& bytes) {
  return {std::move(file), bytes, [bytes](const std::string& stored) -> std::string {
            cluster::SnapshotAssembler assembler;
            if (Status s = assembler.add(stored); !s) return s.error().message;
            auto read = assembler.finish();
            if (!read) return read.error().message;
            const cluster::ClusterState wanted = state();
            const bool equal = read->servers() == wanted.servers() &&
                               read->topology().version() == wanted.topology().version() &&
                               parts(*read) == bytes;
            return equal ? "" : "reads as something else";
          }};
}

void add_snapshots(std::vector<Sample>& all) {
  cluster::ClusterState made = state();
  all.push_back(snapshot("cluster-snapshot.hex", without_departed(parts(made))));
  all.push_back(snapshot("cluster-snapshot-departed.hex", parts(made)));
  cluster::ClusterState later = later_state();
  all.push_back(snapshot("cluster-snapshot-labelled-drained.hex", parts(later)));
  cluster::ClusterState services;
  std::uint64_t index = 0;
  for (const auto& node : {service_spec("n1", "search", {{"zone", "b"}, {"spare", ""}}),
                           service_spec("n2", "object", {{"zone", "a"}}),
                           service_spec("n3", "queue"), service_spec("n4", "frontend")}) {
    const cluster::Command each = cluster::ChangeTopology{membership::registration_of(node)};
    MUSTER_CHECK(services.apply(cluster::encode(each), {++index, 0, at(1)}));
  }
  all.push_back({"cluster-snapshot-services.hex", parts(services),
                 [bytes = parts(services)](const std::string& stored) -> std::string {
                   cluster::SnapshotAssembler assembler;
                   if (Status s = assembler.add(stored); !s) return s.error().message;
                   auto read = assembler.finish();
                   if (!read) return read.error().message;
                   const membership::NodeEntry* node = read->topology().find(NodeId("n1"));
                   const bool equal = node != nullptr && node->service == "search" &&
                                      node->tags.at("zone") == "b" && parts(*read) == bytes;
                   return equal ? "" : "reads as something else";
                 }});
}

void add_backup(std::vector<Sample>& all) {
  rlog::ArchiveWriter writer;
  std::string bytes = writer.object("log/00000000000000000001", "entry");
  bytes += writer.object(rlog::ArchiveWriter::kManifest, "manifest");
  bytes += writer.end();
  all.push_back({"backup.hex", bytes, [](const std::string& stored) -> std::string {
                   std::size_t read = 0;
                   rlog::ArchiveReader reader([&](std::size_t count) -> Result<std::string> {
                     std::string some = stored.substr(read, count);
                     read += some.size();
                     return some;
                   });
                   std::string seen;
                   for (;;) {
                     const auto item = reader.next();
                     if (!item) return "is refused: " + item.error().message;
                     if (item->end) break;
                     seen += item->key + "=" + item->body + ";";
                   }
                   return seen == "log/00000000000000000001=entry;log/manifest=manifest;"
                              ? ""
                              : "reads as " + seen;
                 }});
}

void add_election(std::vector<Sample>& all) {
  LeaderState led;
  led.leader = WorkerId("w1");
  led.epoch = Epoch(7);
  led.incarnation = Incarnation(uuid(1));
  led.nonce = Nonce("n-1");
  led.lease = 15s;
  led.workers = {WorkerId("w1"), WorkerId("w2")};
  led.written_at = wall(1);
  led.elected_at = wall(0);
  led.leader_pod = "pod-1";
  led.elected_by = "w1";
  all.push_back(sample("state.json", led, encode(led), decode_leader_state));
  LeaderState released = led;
  released.leader.reset();
  released.incarnation = {};
  released.released = ReleaseReceipt{WorkerId("w1"), Incarnation(uuid(1)), Epoch(7)};
  released.preferred = WorkerId("w2");
  all.push_back(sample("state-released.json", released, encode(released), decode_leader_state));
  const NamespaceMetadata metadata{Epoch(7), 15s, "w1", wall(0), 5s, 15s, 20s};
  all.push_back(sample("metadata.json", metadata, encode(metadata), decode_metadata));
  const WorkerRecord worker{
      WorkerId("w1"), Incarnation(uuid(1)), Nonce("n-2"), wall(2), wall(1), wall(3),
      "pod-1",        "coordinator",        "default",    true,    false};
  all.push_back(sample("worker.json", worker, encode(worker), decode_worker));
  WorkerRecord back = worker;
  back.stopped = false;
  back.outage = Outage{wall(0), 31s, 7, 3};
  all.push_back(sample("worker-outage.json", back, encode(back), decode_worker));
  const ControlRecord control{{"c-1", ControlKind::kTransfer, Epoch(7), WorkerId("w2"), wall(4)},
                              ControlAck{"c-1", WorkerId("w1"), wall(5)}};
  all.push_back(sample("control.json", control, encode(control), decode_control));
}

}  // namespace

std::vector<Sample> samples() {
  std::vector<Sample> all;
  add_commands(all);
  add_log(all);
  add_snapshots(all);
  add_backup(all);
  add_election(all);
  return all;
}

std::string to_file(const Sample& sample) {
  if (sample.text()) return sample.bytes + "\n";
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string content;
  for (std::size_t i = 0; i < sample.bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(sample.bytes[i]);
    content += {kDigits[byte >> 4], kDigits[byte & 15]};
    if (i % 32 == 31 || i + 1 == sample.bytes.size()) content += '\n';
  }
  return content;
}

std::string from_file(const Sample& sample, const std::string& content) {
  if (sample.text()) return content.substr(0, content.find_last_not_of('\n') + 1);
  std::string digits;
  for (const char c : content) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  }
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace muster::compat
