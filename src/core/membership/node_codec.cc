#include "core/membership/node_codec.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace muster::membership {
namespace {

enum NodeField : std::uint32_t {
  kId = 1,
  kAddress = 2,
  kPort = 3,
  kState = 4,
  kType = 5,
  kLastHeartbeatAt = 6,
  kSuspectCount = 7,
  kGenerationId = 8,
  kRegisteredAt = 9,
  kWeight = 10,
  kSlot = 11,
  kRegistration = 12,
  kStateSince = 13,
  kHeartbeats = 14,
  kSuspectedAt = 15,
  kDrainRequested = 16,
  kRetired = 17,
  kService = 18,
  kTag = 19,
};

enum RingField : std::uint32_t { kVirtualNodes = 1, kReplication = 2 };
enum TagField : std::uint32_t { kTagKey = 1, kTagValue = 2 };
enum DrainField : std::uint32_t { kDrainedId = 1, kDrainedAt = 2 };
enum DepartedField : std::uint32_t { kDepartedId = 1, kDepartedGeneration = 2 };

void write_known(WireWriter& out, const NodeSpec& node) {
  out.text(kId, node.id.value());
  out.text(kAddress, node.address);
  out.number(kPort, node.port);
  out.number(kType, static_cast<std::uint64_t>(node.type));
  out.text(kGenerationId, node.generation.value());
  out.number(kWeight, node.weight);
}

/// After all fields that level 2 knows, as they stand in entries that its servers have kept.
void write_service(WireWriter& out, const NodeSpec& node) {
  out.text(kService, node.service);
  for (const auto& [key, value] : node.tags) {
    WireWriter tag;
    tag.text(kTagKey, key);
    tag.text(kTagValue, value);
    out.message(kTag, tag.bytes());
  }
}

void read_tag(WireReader& in, Tags& tags) {
  std::string key;
  std::string value;
  WireReader tag(in.message());
  while (tag.next()) {
    if (tag.field() == kTagKey) key = tag.text();
    if (tag.field() == kTagValue) value = tag.text();
  }
  // A key that came twice would be another node after writing it again.
  if (tag.failed() || !tags.emplace(std::move(key), std::move(value)).second) in.fail();
}

/// Takes the current field if it is one of a registration.
bool read_known(WireReader& in, NodeSpec& node) {
  switch (in.field()) {
    case kId:
      node.id = NodeId(in.text());
      return true;
    case kAddress:
      node.address = in.text();
      return true;
    case kPort:
      node.port = static_cast<std::uint32_t>(in.number(UINT32_MAX));
      return true;
    case kType:
      node.type = static_cast<NodeType>(in.number(UINT8_MAX));
      return true;
    case kGenerationId:
      node.generation = Generation(in.text());
      return true;
    case kWeight:
      node.weight = static_cast<std::uint32_t>(in.number(UINT32_MAX));
      return true;
    case kService:
      node.service = in.text();
      return true;
    case kTag:
      read_tag(in, node.tags);
      return true;
    default:
      return false;
  }
}

/// Absent means zero on the wire, whatever the default of a fresh struct is.
void zero(NodeSpec& node) {
  node = {};
  node.weight = 0;
}

void read_suspected_at(WireReader& in, NodeEntry& node) {
  WireReader times(in.message());
  std::uint64_t ms = 0;
  while (times.varint(ms)) {
    node.suspected_at.push_back(log_time_from_ms(static_cast<std::int64_t>(ms)));
    if (node.suspected_at.size() > kFlapHistoryMax) times.fail();
  }
  if (times.failed()) in.fail();
}

void read_field(WireReader& in, NodeEntry& node) {
  switch (in.field()) {
    case kState:
      node.state = static_cast<NodeState>(in.number(UINT8_MAX));
      break;
    case kLastHeartbeatAt:
      node.last_heartbeat_at = in.time();
      break;
    case kSuspectCount:
      node.suspect_count = static_cast<std::uint32_t>(in.number(UINT32_MAX));
      break;
    case kRegisteredAt:
      node.registered_at = in.time();
      break;
    case kSlot:
      node.slot = static_cast<Slot>(in.number(UINT32_MAX));
      break;
    case kRegistration:
      node.registration = in.number();
      break;
    case kStateSince:
      node.state_since = in.time();
      break;
    case kHeartbeats:
      node.heartbeats = in.number();
      break;
    case kSuspectedAt:
      read_suspected_at(in, node);
      break;
    case kDrainRequested:
      node.drain_requested = in.number(1) == 1;
      break;
    case kRetired:
      if (node.retired.size() >= kRetiredMax) return in.fail();
      node.retired.emplace_back(in.text());
      break;
    default:
      if (!read_known(in, node)) in.keep(node.unknown);
  }
}

}  // namespace

void write(WireWriter& out, const NodeSpec& node) {
  write_known(out, node);
  write_service(out, node);
  out.raw(node.unknown);
}

void write(WireWriter& out, const NodeEntry& node) {
  write_known(out, node);
  out.number(kState, static_cast<std::uint64_t>(node.state));
  out.time(kLastHeartbeatAt, node.last_heartbeat_at);
  out.number(kSuspectCount, node.suspect_count);
  out.time(kRegisteredAt, node.registered_at);
  out.number(kSlot, node.slot);
  out.number(kRegistration, node.registration);
  out.time(kStateSince, node.state_since);
  out.number(kHeartbeats, node.heartbeats);
  if (!node.suspected_at.empty()) {
    WireWriter times;
    for (const LogTime at : node.suspected_at) times.varint(static_cast<std::uint64_t>(to_ms(at)));
    out.message(kSuspectedAt, times.bytes());
  }
  out.number(kDrainRequested, node.drain_requested ? 1 : 0);
  for (const Generation& generation : node.retired) out.message(kRetired, generation.value());
  write_service(out, node);
  out.raw(node.unknown);
}

void write(WireWriter& out, const Departed& node) {
  out.text(kDepartedId, node.id.value());
  for (const Generation& generation : node.generations) {
    out.message(kDepartedGeneration, generation.value());
  }
}

void write(WireWriter& out, const RingConfig& ring) {
  out.number(kVirtualNodes, ring.virtual_nodes_per_physical);
  out.number(kReplication, ring.replication_factor);
  out.raw(ring.unknown);
}

void write(WireWriter& out, std::uint32_t field, const Calendar& calendar) {
  if (calendar.marks().empty()) return;
  WireWriter marks;
  for (const Calendar::Mark& mark : calendar.marks()) {
    marks.varint(static_cast<std::uint64_t>(to_ms(mark.time)));
    marks.varint(static_cast<std::uint64_t>(to_ms(mark.wall)));
  }
  out.message(field, marks.bytes());
}

void write_drain(WireWriter& out, const NodeId& id, TopologyVersion version) {
  out.text(kDrainedId, id.value());
  out.number(kDrainedAt, version.value());
}

bool read_drain(std::string_view bytes, std::map<NodeId, TopologyVersion>& drains) {
  NodeId id;
  TopologyVersion version;
  WireReader in(bytes);
  while (in.next()) {
    if (in.field() == kDrainedId) id = NodeId(in.text());
    if (in.field() == kDrainedAt) version = TopologyVersion(in.number());
  }
  return !in.failed() && drains.emplace(std::move(id), version).second;
}

bool read(std::string_view bytes, NodeSpec& node) {
  zero(node);
  WireReader in(bytes);
  while (in.next()) {
    if (!read_known(in, node)) in.keep(node.unknown);
  }
  return !in.failed();
}

bool read(std::string_view bytes, NodeEntry& node) {
  node = {};
  zero(node);
  node.state = NodeState::kUnknown;
  WireReader in(bytes);
  while (in.next()) read_field(in, node);
  return !in.failed();
}

bool read(std::string_view bytes, Departed& node) {
  WireReader in(bytes);
  while (in.next()) {
    if (in.field() == kDepartedId) node.id = NodeId(in.text());
    if (in.field() == kDepartedGeneration) node.generations.emplace_back(in.text());
  }
  return !in.failed() && node.generations.size() <= kRetiredMax;
}

bool read(std::string_view bytes, RingConfig& ring) {
  ring = {0, 0, {}};
  WireReader in(bytes);
  while (in.next()) {
    if (in.field() == kVirtualNodes) {
      ring.virtual_nodes_per_physical = static_cast<std::uint32_t>(in.number(UINT32_MAX));
    } else if (in.field() == kReplication) {
      ring.replication_factor = static_cast<std::uint32_t>(in.number(UINT32_MAX));
    } else {
      in.keep(ring.unknown);
    }
  }
  return !in.failed();
}

bool read(std::string_view bytes, Calendar& calendar) {
  std::vector<Calendar::Mark> marks;
  WireReader in(bytes);
  std::uint64_t time = 0;
  std::uint64_t wall = 0;
  while (marks.size() <= Calendar::kMarksMax && in.varint(time)) {
    if (!in.varint(wall)) return false;
    marks.push_back({log_time_from_ms(static_cast<std::int64_t>(time)),
                     wall_from_ms(static_cast<std::int64_t>(wall))});
  }
  return !in.failed() && calendar.restore(std::move(marks));
}

}  // namespace muster::membership
