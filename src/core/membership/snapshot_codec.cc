#include <utility>

#include "core/membership/codec.h"
#include "core/membership/node_codec.h"
#include "core/membership/wire.h"

namespace muster::membership {
namespace {

enum SnapshotField : std::uint32_t {
  kFormat = 1,
  kVersion = 2,
  kTime = 3,
  kRegistrations = 4,
  kRing = 5,
  kNode = 6,
  kDeparted = 7,
  kCalendar = 8,
  kDrain = 9,
};

void read_field(WireReader& in, std::uint64_t& format, TopologyImage& image) {
  switch (in.field()) {
    case kFormat:
      format = in.number();
      break;
    case kVersion:
      image.version = TopologyVersion(in.number());
      break;
    case kTime:
      image.log_time = in.time();
      break;
    case kDrain:
      if (!read_drain(in.message(), image.drains)) in.fail();
      break;
    case kCalendar:
      if (!read(in.message(), image.calendar)) in.fail();
      break;
    case kRegistrations:
      image.registrations = in.number();
      break;
    case kRing:
      if (!read(in.message(), image.ring)) in.fail();
      break;
    case kNode:
      if (image.nodes.size() >= kSlotsMax || !read(in.message(), image.nodes.emplace_back())) {
        in.fail();
      }
      break;
    case kDeparted:
      if (image.departed.size() >= kDepartedMax ||
          !read(in.message(), image.departed.emplace_back())) {
        in.fail();
      }
      break;
    default:
      in.keep(image.unknown);
  }
}

}  // namespace

std::string encode_snapshot(const Topology& topology) {
  WireWriter out;
  out.number(kFormat, kFormatVersion);
  out.number(kVersion, topology.version().value());
  out.time(kTime, topology.log_time());
  out.number(kRegistrations, topology.registrations());
  WireWriter part;
  write(part, topology.ring());
  out.message(kRing, part.bytes());
  topology.for_each([&](const NodeEntry& node) {
    part.clear();
    write(part, node);
    out.message(kNode, part.bytes());
  });
  for (const Departed& left : topology.departed()) {
    part.clear();
    write(part, left);
    out.message(kDeparted, part.bytes());
  }
  write(out, kCalendar, topology.calendar());
  for (const auto& [id, version] : topology.drains()) {
    part.clear();
    write_drain(part, id, version);
    out.message(kDrain, part.bytes());
  }
  out.raw(topology.unknown());
  return out.bytes();
}

Result<Topology> decode_snapshot(std::string_view bytes) {
  const Error corrupt{Errc::kCorrupt, "the topology snapshot is damaged"};
  if (bytes.size() > kSnapshotBytesMax) return corrupt;
  TopologyImage image;
  std::uint64_t format = 0;
  WireReader in(bytes);
  while (in.next()) read_field(in, format, image);
  if (format > kFormatVersion) {
    return {Errc::kUnsupported,
            "a newer server wrote this snapshot; upgrade this server before it can go on"};
  }
  if (in.failed() || format == 0) return corrupt;
  return Topology::restore(std::move(image));
}

}  // namespace muster::membership
