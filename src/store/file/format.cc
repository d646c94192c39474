#include "store/file/format.h"

#include <openssl/sha.h>

#include <array>
#include <cstdio>
#include <utility>

#include "base/check.h"

namespace muster::file {
namespace {

constexpr std::string_view kObjectMagic = "muster-o";
constexpr std::string_view kJournalMagic = "muster-j";
constexpr std::string_view kDamaged = "damaged-";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 16;
constexpr std::size_t kBootIdBytes = 40;
/// A sequence, a length, and a key as long as any.
constexpr std::uint64_t kLongestRecord = 12 + 1024;

template <typename T>
void append(std::string& out, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((number >> (8 * i)) & 0xFF);
}

/// Every caller has compared the size of what it decodes with the whole it takes: a header, a
/// journal's state or a record's twelve bytes. So no file, however damaged, fails the check.
template <typename T>
T take(std::string_view& bytes) {
  MUSTER_CHECK(bytes.size() >= sizeof(T));
  T number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    number |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
  }
  bytes.remove_prefix(sizeof(T));
  return number;
}

/// The first half of SHA-256 over both parts.
std::string checksum(std::string_view head, std::string_view body) {
  std::string all;
  if (!body.empty()) {
    all.reserve(head.size() + body.size());
    all.append(head).append(body);
    head = all;
  }
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  ::SHA256(reinterpret_cast<const unsigned char*>(head.data()), head.size(), digest.data());
  return {reinterpret_cast<const char*>(digest.data()), kChecksumBytes};
}

/// Reads magic and version; what is left begins after them.
Status take_preamble(std::string_view magic, std::string_view& bytes) {
  if (!bytes.starts_with(magic)) return {Errc::kCorrupt, "does not begin like a file of the store"};
  bytes.remove_prefix(magic.size());
  if (const auto version = take<std::uint32_t>(bytes); version != kVersion) {
    return {Errc::kUnsupported,
            "has format version " + std::to_string(version) + ", which this release cannot read"};
  }
  return Done{};
}

}  // namespace

Revision ObjectHeader::revision() const {
  std::array<char, 48> text{};
  const int length = std::snprintf(text.data(), text.size(), "%llu-%016llx",
                                   static_cast<unsigned long long>(sequence),
                                   static_cast<unsigned long long>(nonce));
  return Revision(std::string(text.data(), static_cast<std::size_t>(length)));
}

Revision damaged_revision(std::string_view file, WallTime written) {
  std::string time;
  append(time, static_cast<std::uint64_t>(to_ms(written)));
  std::string name(kDamaged);
  for (const char byte : checksum(time, file).substr(0, 8)) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(byte));
    name += digits.data();
  }
  return Revision(std::move(name));
}

bool names_damage(const Revision& revision) {
  return revision.value().starts_with(kDamaged);
}

std::string encode_object(std::uint64_t sequence, std::uint64_t nonce, std::string_view body) {
  std::string file;
  file.reserve(kObjectHeaderBytes + body.size());
  file += kObjectMagic;
  append(file, kVersion);
  append(file, std::uint32_t{0});
  append(file, sequence);
  append(file, nonce);
  append(file, static_cast<std::uint64_t>(body.size()));
  file += checksum(file, body);
  file += body;
  return file;
}

Result<ObjectHeader> decode_header(std::string_view bytes, std::uint64_t file_bytes) {
  if (bytes.size() < kObjectHeaderBytes) return {Errc::kCorrupt, "is too short for an object"};
  if (Status s = take_preamble(kObjectMagic, bytes); !s) return s.error();
  if (take<std::uint32_t>(bytes) != 0) return {Errc::kCorrupt, "has flags that no release sets"};
  ObjectHeader header;
  header.sequence = take<std::uint64_t>(bytes);
  header.nonce = take<std::uint64_t>(bytes);
  header.body_bytes = take<std::uint64_t>(bytes);
  if (header.body_bytes > kBodyBytesMax || header.body_bytes != file_bytes - kObjectHeaderBytes) {
    return {Errc::kCorrupt, "is not as long as its header says"};
  }
  return header;
}

Result<ObjectHeader> decode_object(std::string_view file) {
  auto header = decode_header(file, file.size());
  if (!header) return header;
  constexpr std::size_t kChecksumAt = kObjectHeaderBytes - kChecksumBytes;
  if (checksum(file.substr(0, kChecksumAt), file.substr(kObjectHeaderBytes)) !=
      file.substr(kChecksumAt, kChecksumBytes)) {
    return {Errc::kCorrupt, "does not match its checksum"};
  }
  return header;
}

std::string encode_state(const JournalState& state) {
  // It comes from files::boot_id(), a UUID of the kernel's (36 bytes) or empty; never from the
  // file.
  MUSTER_CHECK(state.boot_id.size() <= kBootIdBytes);
  std::string bytes(kJournalMagic);
  append(bytes, kVersion);
  append(bytes, static_cast<std::uint32_t>(state.in_flight));
  append(bytes, state.generation);
  append(bytes, state.sequence);
  append(bytes, state.base);
  append(bytes, state.record_bytes);
  bytes += state.boot_id;
  bytes.resize(kJournalStateBytes - kChecksumBytes, '\0');
  return bytes + checksum(bytes, {});
}

Result<JournalState> decode_state(std::string_view bytes) {
  if (bytes.size() != kJournalStateBytes) return {Errc::kCorrupt, "is too short for a journal"};
  const std::string_view sum = bytes.substr(kJournalStateBytes - kChecksumBytes);
  const std::string_view summed = bytes.substr(0, kJournalStateBytes - kChecksumBytes);
  if (Status s = take_preamble(kJournalMagic, bytes); !s) return s.error();
  if (checksum(summed, {}) != sum) return {Errc::kCorrupt, "does not match its checksum"};
  JournalState state;
  state.in_flight = static_cast<InFlight>(take<std::uint32_t>(bytes));
  state.generation = take<std::uint64_t>(bytes);
  state.sequence = take<std::uint64_t>(bytes);
  state.base = take<std::uint64_t>(bytes);
  state.record_bytes = take<std::uint64_t>(bytes);
  if (state.record_bytes > kJournalRecordBytesMax + kLongestRecord) {
    return {Errc::kCorrupt, "has more records than a journal holds"};
  }
  state.boot_id = bytes.substr(0, bytes.substr(0, kBootIdBytes).find('\0'));
  return state;
}

std::string encode_record(const JournalRecord& record) {
  std::string bytes;
  append(bytes, record.sequence);
  append(bytes, static_cast<std::uint32_t>(record.key.size()));
  return bytes + record.key;
}

Result<std::vector<JournalRecord>> decode_records(std::string_view bytes) {
  std::vector<JournalRecord> records;
  while (!bytes.empty()) {
    if (bytes.size() < 12) return {Errc::kCorrupt, "ends within a record"};
    JournalRecord record;
    record.sequence = take<std::uint64_t>(bytes);
    const auto key_bytes = take<std::uint32_t>(bytes);
    if (key_bytes > bytes.size()) return {Errc::kCorrupt, "ends within a record"};
    record.key = bytes.substr(0, key_bytes);
    bytes.remove_prefix(key_bytes);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace muster::file
