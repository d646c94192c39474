#include "core/log/manifest.h"

#include <algorithm>
#include <utility>

#include "core/log/codec.h"

namespace muster::rlog {
namespace {

enum PositionField : std::uint32_t {
  kPositionIndex = 1,
  kPositionEpoch = 2,
  kPositionIncarnation = 3,
  kPositionTime = 4,
  kPositionChain = 5,
  kPositionSeal = 6,
};
enum RefField : std::uint32_t { kPosition = 1, kRefNonce = 2, kRefHead = 3, kRefBytes = 4 };
enum ManifestField : std::uint32_t {
  kManifestVersion = 1,
  kManifestLogId = 2,
  kManifestOrigin = 3,
  kManifestNonce = 4,
  kManifestGuarded = 5,
  kManifestLatest = 6,
  kManifestPrevious = 7,
  kManifestFloor = 8,
  kManifestPending = 9,
  kManifestOpenedBy = 10,
  kManifestCluster = 11,
};
enum HeadField : std::uint32_t { kHeadVersion = 1, kHeadPosition = 2, kPart = 3 };
enum PartField : std::uint32_t { kPartBytes = 1, kPartDigest = 2 };

void write_position(WireWriter& writer, std::uint32_t field, const Position& position) {
  WireWriter inner;
  inner.number(kPositionIndex, position.index.value());
  inner.number(kPositionEpoch, position.epoch.value());
  inner.text(kPositionIncarnation, position.incarnation.value());
  inner.time(kPositionTime, position.time);
  inner.message(kPositionChain, bytes_of(position.chain));
  if (position.seal) write_seal(inner, kPositionSeal, *position.seal);
  writer.message(field, inner.bytes());
}

Position read_position(WireReader& outer) {
  Position position;
  WireReader reader(outer.message());
  while (reader.next()) {
    if (reader.field() == kPositionIndex) position.index = Index(reader.number());
    if (reader.field() == kPositionEpoch) position.epoch = Epoch(reader.number());
    if (reader.field() == kPositionIncarnation) position.incarnation = Incarnation(reader.text());
    if (reader.field() == kPositionTime) position.time = reader.time();
    if (reader.field() == kPositionChain) position.chain = read_digest(reader);
    if (reader.field() == kPositionSeal) position.seal = read_seal(reader);
  }
  if (reader.failed() || position.index == Index()) outer.fail();
  return position;
}

void write_ref(WireWriter& writer, std::uint32_t field, const SnapshotRef& ref) {
  WireWriter inner;
  write_position(inner, kPosition, ref.position);
  inner.text(kRefNonce, ref.nonce.value());
  inner.message(kRefHead, bytes_of(ref.head));
  inner.number(kRefBytes, ref.bytes);
  inner.raw(ref.unknown);
  writer.message(field, inner.bytes());
}

SnapshotRef read_ref(WireReader& outer) {
  SnapshotRef ref;
  WireReader reader(outer.message());
  while (reader.next()) {
    switch (reader.field()) {
      case kPosition:
        ref.position = read_position(reader);
        break;
      case kRefNonce:
        ref.nonce = Nonce(reader.text());
        break;
      case kRefHead:
        ref.head = read_digest(reader);
        break;
      case kRefBytes:
        ref.bytes = reader.number();
        break;
      default:
        reader.keep(ref.unknown);
    }
  }
  if (reader.failed() || ref.position.index == Index()) outer.fail();
  return ref;
}

SnapshotHead::Part read_part(WireReader& outer) {
  SnapshotHead::Part part;
  WireReader reader(outer.message());
  while (reader.next()) {
    if (reader.field() == kPartBytes) part.bytes = reader.number();
    if (reader.field() == kPartDigest) part.digest = read_digest(reader);
  }
  if (reader.failed()) outer.fail();
  return part;
}

void read_manifest_field(WireReader& reader, Manifest& manifest) {
  switch (reader.field()) {
    case kManifestLogId:
      manifest.log_id = reader.text();
      break;
    case kManifestOrigin:
      manifest.origin = reader.text();
      break;
    case kManifestNonce:
      manifest.nonce = Nonce(reader.text());
      break;
    case kManifestGuarded:
      manifest.guarded = reader.number(1) == 1;
      break;
    case kManifestLatest:
      manifest.latest = read_ref(reader);
      break;
    case kManifestPrevious:
      manifest.previous = read_ref(reader);
      break;
    case kManifestFloor:
      manifest.floor = Index(reader.number());
      break;
    case kManifestPending:
      manifest.pending = reader.text();
      break;
    case kManifestOpenedBy:
      manifest.opened_by.push_back(reader.text());
      break;
    case kManifestCluster:
      manifest.cluster = reader.text();
      break;
    default:
      reader.keep(manifest.unknown);
  }
}

}  // namespace

std::string encode_manifest(const Manifest& manifest) {
  WireWriter writer;
  writer.number(kManifestVersion, kFormatVersion);
  writer.text(kManifestLogId, manifest.log_id);
  writer.text(kManifestOrigin, manifest.origin);
  writer.text(kManifestNonce, manifest.nonce.value());
  writer.number(kManifestGuarded, manifest.guarded ? 1 : 0);
  if (manifest.latest) write_ref(writer, kManifestLatest, *manifest.latest);
  if (manifest.previous) write_ref(writer, kManifestPrevious, *manifest.previous);
  writer.number(kManifestFloor, manifest.floor.value());
  writer.text(kManifestPending, manifest.pending);
  for (const std::string& move : manifest.opened_by) writer.message(kManifestOpenedBy, move);
  writer.text(kManifestCluster, manifest.cluster);
  writer.raw(manifest.unknown);
  std::string body = std::move(writer).take();
  seal_with_digest(body);
  return body;
}

Result<Manifest> decode_manifest(std::string_view body) {
  const std::string_view content = verified(body);
  if (content.empty()) return {Errc::kCorrupt, "its bytes do not match their digest"};
  Manifest manifest;
  std::uint64_t version = 0;
  WireReader reader(content);
  while (reader.next()) {
    if (reader.field() == kManifestVersion) {
      version = reader.number();
    } else {
      read_manifest_field(reader, manifest);
    }
  }
  if (version > kFormatVersion) {
    return {Errc::kUnsupported, "a newer version of Muster wrote it"};
  }
  if (reader.failed() || version == 0 || manifest.log_id.empty() || manifest.origin.empty()) {
    return {Errc::kCorrupt, "it is not a manifest of a log"};
  }
  const Index kept = manifest.previous ? manifest.previous->position.index : Index();
  if (manifest.floor > kept || (manifest.previous && !manifest.latest)) {
    return {Errc::kCorrupt, "its floor is above the older snapshot"};
  }
  return manifest;
}

std::string encode_snapshot_head(const SnapshotHead& head) {
  WireWriter writer;
  writer.number(kHeadVersion, kFormatVersion);
  write_position(writer, kHeadPosition, head.position);
  for (const SnapshotHead::Part& part : head.parts) {
    WireWriter inner;
    inner.number(kPartBytes, part.bytes);
    inner.message(kPartDigest, bytes_of(part.digest));
    writer.message(kPart, inner.bytes());
  }
  return std::move(writer).take();
}

Result<SnapshotHead> decode_snapshot_head(std::string_view body) {
  SnapshotHead head;
  std::uint64_t version = 0;
  WireReader reader(body);
  while (reader.next()) {
    if (reader.field() == kHeadVersion) version = reader.number();
    if (reader.field() == kHeadPosition) head.position = read_position(reader);
    if (reader.field() == kPart) head.parts.push_back(read_part(reader));
  }
  if (version > kFormatVersion) {
    return {Errc::kUnsupported, "a newer version of Muster wrote it"};
  }
  if (reader.failed() || version == 0 || head.position.index == Index()) {
    return {Errc::kCorrupt, "it is not a head of a snapshot"};
  }
  return head;
}

Result<Manifest> with_snapshot(Manifest manifest, SnapshotRef snapshot) {
  if (manifest.latest && snapshot.position.index <= manifest.latest->position.index) {
    return {Errc::kConflict, "a snapshot as new as this one is in the manifest"};
  }
  manifest.previous = std::move(manifest.latest);
  manifest.latest = std::move(snapshot);
  return manifest;
}

std::optional<Manifest> with_raised_floor(Manifest manifest) {
  if (!manifest.previous || manifest.previous->position.index <= manifest.floor) return {};
  manifest.floor = manifest.previous->position.index;
  return manifest;
}

bool is_garbage(const Manifest& manifest, Index set_index, bool kept) {
  return manifest.latest && set_index <= manifest.latest->position.index && !kept;
}

Status check_follows(const Manifest& before, const Manifest& now) {
  if (before.log_id != now.log_id) {
    return {Errc::kConflict, "this is log " + now.log_id + ", not " + before.log_id};
  }
  const auto latest = [](const Manifest& manifest) {
    return manifest.latest ? manifest.latest->position.index : Index();
  };
  if (now.floor < before.floor || latest(now) < latest(before)) {
    return {Errc::kConflict, "the manifest is older than one read before: the store went back"};
  }
  return Done{};
}

void lift_own_seal(Position& position, const Manifest& manifest) {
  const auto& moves = manifest.opened_by;
  if (position.seal &&
      std::find(moves.begin(), moves.end(), position.seal->move_id) != moves.end()) {
    position.seal.reset();
  }
}

}  // namespace muster::rlog
