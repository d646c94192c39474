#include <utility>

#include "core/membership/codec.h"
#include "core/membership/node_codec.h"
#include "core/membership/wire.h"

namespace muster::membership {
namespace {

enum SnapshotField : std::uint32_t {
  kImageFormat = 1,
  kImageVersion = 2,
  kImageTime = 3,
  kImageRegistrations = 4,
  kImageRing = 5,
  kImageNode = 6,
  kImageDeparted = 7,
  kImageCalendar = 8,
  kImageDrain = 9,
};

void read_field(WireReader& in, std::uint64_t& format, TopologySnapshot& image) {
  switch (in.field()) {
    case kImageFormat:
      format = in.number();
      break;
    case kImageVersion:
      image.version = TopologyVersion(in.number());
      break;
    case kImageTime:
      image.log_time = in.time();
      break;
    case kImageDrain:
      if (!read_drain(in.message(), image.drains)) in.fail();
      break;
    case kImageCalendar:
      if (!read(in.message(), image.calendar)) in.fail();
      break;
    case kImageRegistrations:
      image.registrations = in.number();
      break;
    case kImageRing:
      if (!read(in.message(), image.ring)) in.fail();
      break;
    case kImageNode:
      if (image.nodes.size() >= kSlotsMax || !read(in.message(), image.nodes.emplace_back())) {
        in.fail();
      }
      break;
    case kImageDeparted:
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
  out.number(kImageFormat, kFormatVersion);
  out.number(kImageVersion, topology.version().value());
  out.time(kImageTime, topology.log_time());
  out.number(kImageRegistrations, topology.registrations());
  WireWriter part;
  write(part, topology.ring());
  out.message(kImageRing, part.bytes());
  topology.for_each([&](const NodeEntry& node) {
    part.clear();
    write(part, node);
    out.message(kImageNode, part.bytes());
  });
  for (const Departed& left : topology.departed()) {
    part.clear();
    write(part, left);
    out.message(kImageDeparted, part.bytes());
  }
  write(out, kImageCalendar, topology.calendar());
  for (const auto& [id, version] : topology.drains()) {
    part.clear();
    write_drain(part, id, version);
    out.message(kImageDrain, part.bytes());
  }
  out.raw(topology.unknown());
  return out.bytes();
}

Result<Topology> decode_snapshot(std::string_view bytes) {
  const Error corrupt{Errc::kCorrupt, "the topology snapshot is damaged"};
  if (bytes.size() > kSnapshotBytesMax) return corrupt;
  TopologySnapshot image;
  std::uint64_t format = 0;
  WireReader in(bytes);
  while (in.next()) read_field(in, format, image);
  if (format > kFormatVersion) {
    return {Errc::kUnsupported, "a newer server wrote this snapshot; upgrade this server"};
  }
  if (in.failed() || format == 0) return corrupt;
  return Topology::restore(std::move(image));
}

}  // namespace muster::membership
