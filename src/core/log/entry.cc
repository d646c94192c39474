#include "core/log/entry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/log/codec.h"

namespace muster::rlog {
namespace {

enum Field : std::uint32_t {
  kVersion = 1,
  kIndex = 2,
  kEpoch = 3,
  kIncarnation = 4,
  kNonce = 5,
  kTime = 6,
  kKind = 7,
  kPrevious = 8,
  kCommand = 9,
  kSealField = 10,
  kWall = 11,
};

Result<Entry> decode_content(std::string_view content, std::string_view body) {
  Entry entry;
  EntryHeader& header = entry.header;
  std::uint64_t version = 0;
  std::optional<WallTime> wall;
  WireReader reader(content);
  while (reader.next()) {
    switch (reader.field()) {
      case kVersion:
        version = reader.number();
        break;
      case kIndex:
        header.index = Index(reader.number());
        break;
      case kEpoch:
        header.epoch = Epoch(reader.number());
        break;
      case kIncarnation:
        header.incarnation = Incarnation(reader.text());
        break;
      case kNonce:
        header.nonce = Nonce(reader.text());
        break;
      case kTime:
        header.time = reader.time();
        break;
      case kWall:
        wall = reader.wall();
        break;
      case kKind:
        header.kind = static_cast<EntryKind>(reader.number(INT32_MAX));
        break;
      case kPrevious:
        header.previous = read_digest(reader);
        break;
      case kCommand:
        entry.commands.push_back(reader.message());
        break;
      case kSealField:
        entry.seal = read_seal(reader);
        break;
      default:  // A newer version's; it stays in the body, which is never rewritten.
        break;
    }
  }
  if (version > kFormatVersion || header.kind > EntryKind::kSeal) {
    return {Errc::kUnsupported, "a newer version of Muster wrote it"};
  }
  const bool sealed = header.kind == EntryKind::kSeal;
  if (reader.failed() || version == 0 || header.index == Index() || sealed != !!entry.seal) {
    return {Errc::kCorrupt, "it is not an entry of a log"};
  }
  // Servers of 0.1 took log time from their wall clocks, and wrote it once.
  header.wall = wall.value_or(wall_from_ms(to_ms(header.time)));
  entry.chain = digest_at_end(body);
  return entry;
}

}  // namespace

std::string encode_entry(const EntryHeader& header, std::span<const std::string> commands,
                         const std::optional<Seal>& seal) {
  std::size_t size = kEntryOverheadMax;
  for (const std::string& command : commands) size += command.size() + kCommandOverhead;
  WireWriter writer;
  writer.reserve(size);
  writer.number(kVersion, kFormatVersion);
  writer.number(kIndex, header.index.value());
  writer.number(kEpoch, header.epoch.value());
  writer.text(kIncarnation, header.incarnation.value());
  writer.text(kNonce, header.nonce.value());
  writer.time(kTime, header.time);
  writer.number(kKind, static_cast<std::uint64_t>(header.kind));
  writer.message(kPrevious, bytes_of(header.previous));
  for (const std::string& command : commands) writer.message(kCommand, command);
  if (seal) write_seal(writer, kSealField, *seal);
  if (to_ms(header.wall) != to_ms(header.time)) writer.wall(kWall, header.wall);
  std::string body = std::move(writer).take();
  seal_with_digest(body);
  return body;
}

Result<Entry> decode_entry(std::string_view body) {
  const std::string_view content = verified(body);
  if (content.empty()) return {Errc::kCorrupt, "its bytes do not match their digest"};
  return decode_content(content, body);
}

Result<Entry> decode_own_entry(std::string_view body) {
  MUSTER_CHECK(body.size() > sizeof(Digest));
  return decode_content(body.substr(0, body.size() - sizeof(Digest)), body);
}

Position beginning(const std::string& origin) {
  Position position;
  position.chain = sha256("muster-log " + origin);
  return position;
}

bool may_write(const Position& position, Epoch epoch, const Incarnation& incarnation) {
  if (position.seal) return false;
  return epoch > position.epoch || (epoch == position.epoch && incarnation == position.incarnation);
}

Result<Verdict> judge(const Position& position, const Entry& entry) {
  if (entry.header.index != next(position.index)) {
    return {Errc::kCorrupt,
            "it says that it is entry " + std::to_string(entry.header.index.value())};
  }
  if (entry.header.previous != position.chain) {
    return {Errc::kCorrupt, "it does not follow the entry before it: the chain is broken"};
  }
  const bool allowed = may_write(position, entry.header.epoch, entry.header.incarnation);
  return allowed ? Verdict::kAccepted : Verdict::kVoid;
}

void advance(Position& position, const Entry& entry, Verdict verdict) {
  // The chain goes over every number, so that everybody agrees on it whatever was void.
  position.index = entry.header.index;
  position.chain = entry.chain;
  if (verdict == Verdict::kVoid) return;
  position.epoch = entry.header.epoch;
  position.incarnation = entry.header.incarnation;
  position.time = std::max(position.time, entry.header.time);
  position.seal = entry.seal;
}

}  // namespace muster::rlog
