#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"

/// The bytes of the file store's files: docs/formats.md, "File store". Pure.
namespace muster::file {

/// The header before the body in an object's file.
struct ObjectHeader {
  std::uint64_t sequence = 0;
  std::uint64_t nonce = 0;  ///< Random, so that a sequence lost in a power loss repeats no name.
  std::uint64_t body_bytes = 0;

  [[nodiscard]] Revision revision() const;
};

constexpr std::size_t kObjectHeaderBytes = 56;
constexpr std::uint64_t kBodyBytesMax = 256u << 20;
constexpr std::size_t kFileBytesMax = kObjectHeaderBytes + kBodyBytesMax;

/// The revision of a file that is not an object, from its bytes and the time of its last write: the
/// same damage, such as an empty file, may come twice, but a revision must not.
[[nodiscard]] Revision damaged_revision(std::string_view file, WallTime written);
/// Whether damaged_revision() may have made it; no intact object has such a revision.
[[nodiscard]] bool names_damage(const Revision& revision);

/// The bytes of an object's whole file.
[[nodiscard]] std::string encode_object(std::uint64_t sequence, std::uint64_t nonce,
                                        std::string_view body);
/// Reads the header of a file of `file_bytes` bytes from its first bytes. Returns kCorrupt if they
/// cannot be a header; does not check the body or the checksum.
[[nodiscard]] Result<ObjectHeader> decode_header(std::string_view bytes, std::uint64_t file_bytes);
/// Like decode_header() for a whole file, and checks its checksum.
[[nodiscard]] Result<ObjectHeader> decode_object(std::string_view file);

/// The unfinished operation of a writer. A process that holds the lock and finds it set knows that
/// the writer died or gave up half-way.
enum class InFlight : std::uint32_t { kNothing = 0, kPut = 1, kRemoval = 2 };

/// The beginning of the journal: the progress of the store. Valid for one boot only, so it is never
/// synced; after a reboot it is rebuilt from the objects.
struct JournalState {
  std::string boot_id;
  std::uint64_t generation = 0;  ///< Random, new whenever the state is rebuilt.
  std::uint64_t sequence = 0;    ///< Of the last write begun.
  std::uint64_t base = 0;        ///< The records are those of the sequences after this one.
  std::uint64_t record_bytes = 0;
  InFlight in_flight = InFlight::kNothing;

  /// The last sequence whose write is finished, visible and durable.
  [[nodiscard]] std::uint64_t settled() const {
    return in_flight == InFlight::kNothing ? sequence : sequence - 1;
  }
};

constexpr std::size_t kJournalStateBytes = 128;
/// The offset of the journal's records; the state before them fits into one page.
constexpr std::uint64_t kJournalRecordsAt = 4096;
/// Beyond this size old records are dropped: a watcher may be some 4,000 changes behind.
constexpr std::uint64_t kJournalRecordBytesMax = 256 * 1024;

[[nodiscard]] std::string encode_state(const JournalState& state);
/// Returns kCorrupt also if the state claims more records than a journal holds.
[[nodiscard]] Result<JournalState> decode_state(std::string_view bytes);

/// States that the write with this sequence may have changed the key.
struct JournalRecord {
  std::uint64_t sequence = 0;
  Key key;
};
[[nodiscard]] std::string encode_record(const JournalRecord& record);
[[nodiscard]] Result<std::vector<JournalRecord>> decode_records(std::string_view bytes);

}  // namespace muster::file
