#include "core/cluster/snapshot.h"

#include <algorithm>
#include <memory>

#include "core/membership/node_codec.h"
#include "core/membership/wire.h"

namespace muster::cluster {
namespace {

using membership::WireReader;
using membership::WireWriter;

constexpr std::uint64_t kSnapshotVersion = 1;

enum PartField : std::uint32_t {
  kHeader = 1,
  kServer = 2,
  kNode = 3,
  kKey = 4,
  kDecision = 5,
  kDrain = 6,
  /// A node that servers up to level 2 would take for one of another kind.
  kServiceNode = 7,
};
enum HeaderField : std::uint32_t {
  kSnapshotFormat = 1,
  kVersion = 2,
  kTime = 3,
  kRegistrations = 4,
  kRing = 5,
  kKvRevision = 6,
  kLeadership = 7,
  kDeparted = 8,
  kCalendar = 9,
};
enum LeadershipField : std::uint32_t { kLeader = 1, kLeadEpoch = 2, kSince = 3, kResigned = 4 };
enum ServerField : std::uint32_t {
  kId = 1,
  kAddress = 2,
  kServerVersion = 3,
  kAnnouncedAt = 4,
  kLevel = 5
};
enum KeyField : std::uint32_t { kName = 1, kValue = 2, kRevision = 3, kWrittenAt = 4 };

Error corrupt(const char* what) {
  return {Errc::kCorrupt, std::string("the cluster's snapshot ") + what};
}

std::string header(const ClusterState& state) {
  const membership::Topology& topology = state.topology();
  WireWriter out;
  out.number(kSnapshotFormat, kSnapshotVersion);
  out.number(kVersion, topology.version().value());
  out.time(kTime, topology.log_time());
  out.number(kRegistrations, topology.registrations());
  WireWriter ring;
  write(ring, topology.ring());
  out.message(kRing, ring.bytes());
  out.number(kKvRevision, state.kv().revision());
  WireWriter leader;
  leader.text(kLeader, state.leadership().server);
  leader.number(kLeadEpoch, state.leadership().epoch);
  leader.time(kSince, state.leadership().since);
  leader.text(kResigned, state.leadership().resigned);
  out.text(kLeadership, leader.bytes());
  for (const membership::Departed& left : topology.departed()) {
    WireWriter departed;
    write(departed, left);
    out.message(kDeparted, departed.bytes());
  }
  write(out, kCalendar, topology.calendar());
  out.raw(topology.unknown());
  WireWriter part;
  part.message(kHeader, out.bytes());
  return part.bytes();
}

void write(WireWriter& out, const std::string& id, const ServerEntry& server) {
  out.text(kId, id);
  out.text(kAddress, server.address);
  out.text(kServerVersion, server.version);
  out.time(kAnnouncedAt, server.announced_at);
  out.number(kLevel, server.level);
  out.raw(server.unknown);
}

bool read(std::string_view bytes, Leadership& leadership) {
  WireReader in(bytes);
  while (in.next()) {
    if (in.field() == kLeader) leadership.server = in.text();
    if (in.field() == kLeadEpoch) leadership.epoch = in.number();
    if (in.field() == kSince) leadership.since = in.time();
    if (in.field() == kResigned) leadership.resigned = in.text();
  }
  return !in.failed();
}

}  // namespace

SnapshotParts::SnapshotParts(ClusterState& state, std::size_t part_bytes)
    : part_bytes_(part_bytes),
      header_(header(state)),
      servers_(state.servers().begin(), state.servers().end()),
      drains_(state.topology().drains().begin(), state.topology().drains().end()),
      nodes_(state.topology().freeze()),
      decisions_(state.decisions().freeze()),
      kv_(state.kv().freeze()),
      next_key_(kv_->next()) {}

std::optional<std::string> SnapshotParts::next() {
  WireWriter part;
  part.raw(std::exchange(header_, {}));
  WireWriter item;
  while (next_server_ < servers_.size() && part.bytes().size() < part_bytes_) {
    item.clear();
    const auto& [id, server] = servers_[next_server_++];
    write(item, id, server);
    part.message(kServer, item.bytes());
  }
  while (next_drain_ < drains_.size() && part.bytes().size() < part_bytes_) {
    item.clear();
    const auto& [id, version] = drains_[next_drain_++];
    membership::write_drain(item, id, version);
    part.message(kDrain, item.bytes());
  }
  while (next_node_ < nodes_.size() && part.bytes().size() < part_bytes_) {
    item.clear();
    write(item, *nodes_[next_node_]);
    part.message(has_only_a_type(*nodes_[next_node_]) ? kNode : kServiceNode, item.bytes());
    // Let go at once, so that a change from now on need not copy.
    nodes_[next_node_++].reset();
  }
  while (next_decision_ < decisions_.size() && part.bytes().size() < part_bytes_) {
    part.message(kDecision, encode(*decisions_[next_decision_]));
    decisions_[next_decision_++].reset();
  }
  while (next_key_ && part.bytes().size() < part_bytes_) {
    item.clear();
    item.text(kName, next_key_->first);
    item.text(kValue, *next_key_->second.value);
    item.number(kRevision, next_key_->second.revision);
    item.time(kWrittenAt, next_key_->second.written_at);
    part.message(kKey, item.bytes());
    next_key_ = kv_->next();
  }
  if (part.bytes().empty()) return {};
  return part.bytes();
}

Status SnapshotAssembler::add(std::string_view part) {
  WireReader in(part);
  while (in.next()) {
    const std::string_view bytes = in.message();
    if (in.failed()) break;
    if (begun_ == (in.field() == kHeader)) return corrupt("does not begin with its header");
    Status added = Done{};
    switch (in.field()) {
      case kHeader:
        added = add_header(bytes);
        break;
      case kServer:
        added = add_server(bytes);
        break;
      case kNode:
      case kServiceNode:
        if (topology_.nodes.size() >= membership::kSlotsMax ||
            !membership::read(bytes, topology_.nodes.emplace_back())) {
          added = corrupt("holds a damaged node");
        }
        break;
      case kDrain:
        if (!membership::read_drain(bytes, topology_.drains)) {
          added = corrupt("holds a damaged drain");
        }
        break;
      case kKey:
        added = add_key(bytes);
        break;
      case kDecision:
        added = add_decision(bytes);
        break;
      default:
        // Something that a newer server keeps; to drop it would be to lose it for all.
        return {Errc::kUnsupported, "a newer server wrote this snapshot; upgrade this server"};
    }
    if (!added) return added;
  }
  if (in.failed()) return corrupt("is damaged");
  return Done{};
}

Status SnapshotAssembler::add_header(std::string_view bytes) {
  std::uint64_t format = 0;
  WireReader in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case kSnapshotFormat:
        format = in.number();
        break;
      case kVersion:
        topology_.version = TopologyVersion(in.number());
        break;
      case kTime:
        topology_.log_time = in.time();
        break;
      case kRegistrations:
        topology_.registrations = in.number();
        break;
      case kRing:
        if (!membership::read(in.message(), topology_.ring)) in.fail();
        break;
      case kKvRevision:
        kv_revision_ = in.number();
        break;
      case kLeadership:
        if (!read(in.message(), state_.leadership_)) in.fail();
        break;
      case kDeparted:
        if (topology_.departed.size() >= membership::kDepartedMax ||
            !membership::read(in.message(), topology_.departed.emplace_back())) {
          in.fail();
        }
        break;
      case kCalendar:
        if (!membership::read(in.message(), topology_.calendar)) in.fail();
        break;
      default:
        in.keep(topology_.unknown);
    }
  }
  if (format > kSnapshotVersion) {
    return {Errc::kUnsupported, "a newer server wrote this snapshot; upgrade this server"};
  }
  if (in.failed() || format == 0) return corrupt("has a damaged header");
  begun_ = true;
  return Done{};
}

Status SnapshotAssembler::add_server(std::string_view bytes) {
  std::string id;
  ServerEntry server;
  WireReader in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case kId:
        id = in.text();
        break;
      case kAddress:
        server.address = in.text();
        break;
      case kServerVersion:
        server.version = in.text();
        break;
      case kAnnouncedAt:
        server.announced_at = in.time();
        break;
      case kLevel:
        server.level = std::max<std::uint64_t>(in.number(), 1);
        break;
      default:
        in.keep(server.unknown);
    }
  }
  if (in.failed() || !state_.servers_.emplace(std::move(id), std::move(server)).second) {
    return corrupt("holds a damaged server");
  }
  return Done{};
}

Status SnapshotAssembler::add_decision(std::string_view bytes) {
  auto decision = decode_decision(bytes);
  if (!decision) return corrupt("holds a damaged decision");
  return state_.decisions_.load(std::move(*decision));
}

Status SnapshotAssembler::add_key(std::string_view bytes) {
  std::string key;
  KvEntry entry;
  std::string value;
  WireReader in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case kName:
        key = std::string(in.message());
        break;
      case kValue:
        value = std::string(in.message());
        break;
      case kRevision:
        entry.revision = in.number();
        break;
      case kWrittenAt:
        entry.written_at = in.time();
        break;
      default:
        return {Errc::kUnsupported, "a newer server wrote this snapshot; upgrade this server"};
    }
  }
  if (in.failed()) return corrupt("holds a damaged key");
  entry.value = std::make_shared<const std::string>(std::move(value));
  state_.index(key);
  return state_.kv_.load(std::move(key), std::move(entry));
}

Result<ClusterState> SnapshotAssembler::finish() {
  if (!begun_) return corrupt("is empty");
  auto topology = membership::Topology::restore(std::move(topology_));
  if (!topology) return topology.error();
  state_.topology_ = std::move(*topology);
  if (Status s = state_.kv_.finish_load(kv_revision_); !s) return s.error();
  return std::move(state_);
}

}  // namespace muster::cluster
