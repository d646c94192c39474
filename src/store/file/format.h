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

/// What stands before the body in an object's file.
struct ObjectHeader {
  std::uint64_t sequence = 0;
  std::uint64_t nonce = 0;  ///< Random, so that a sequence lost with the power makes no old name.
  std::uint64_t body_bytes = 0;

  [[nodiscard]] Revision revision() const;
};

constexpr std::size_t kObjectHeaderBytes = 56;
constexpr std::uint64_t kBodyBytesMax = 256u << 20;
constexpr std::size_t kFileBytesMax = kObjectHeaderBytes + kBodyBytesMax;

/// Names a file that is no object, by its bytes and by when they were written: the same damage,
/// such as an empty file, may come twice, but a revision must not.
[[nodiscard]] Revision damaged_revision(std::string_view file, WallTime written);
/// Whether damaged_revision() may have made it; no whole object has such a one.
[[nodiscard]] bool names_damage(const Revision& revision);

/// The whole file of an object.
[[nodiscard]] std::string encode_object(std::uint64_t sequence, std::uint64_t nonce,
                                        std::string_view body);
/// Reads the header of a file of `file_bytes` bytes from its first bytes. kCorrupt when it cannot
/// be one; the body and the checksum are not looked at.
[[nodiscard]] Result<ObjectHeader> decode_header(std::string_view bytes, std::uint64_t file_bytes);
/// As decode_header() for a whole file, and compares its checksum.
[[nodiscard]] Result<ObjectHeader> decode_object(std::string_view file);

/// What a writer is in the middle of. Whoever finds it set, holding the lock, knows that the
/// writer died or gave up half-way.
enum class InFlight : std::uint32_t { kNothing = 0, kPut = 1, kRemoval = 2 };

/// The beginning of the journal: how far the store has come. Good for one boot only, so that it
/// need never be synced; after another start of the machine it is made anew from the objects.
struct JournalState {
  std::string boot_id;
  std::uint64_t generation = 0;  ///< Random, new whenever the state is made anew.
  std::uint64_t sequence = 0;    ///< Of the last write begun.
  std::uint64_t base = 0;        ///< The records are those of the sequences after this one.
  std::uint64_t record_bytes = 0;
  InFlight in_flight = InFlight::kNothing;

  /// The last sequence whose write is over, visible and durable.
  [[nodiscard]] std::uint64_t settled() const {
    return in_flight == InFlight::kNothing ? sequence : sequence - 1;
  }
};

constexpr std::size_t kJournalStateBytes = 128;
/// Where the journal's records begin; the state before them lies within one page.
constexpr std::uint64_t kJournalRecordsAt = 4096;
/// Old records give way past this size: some 4,000 changes that a watcher may lag behind.
constexpr std::uint64_t kJournalRecordBytesMax = 256 * 1024;

[[nodiscard]] std::string encode_state(const JournalState& state);
/// kCorrupt also when the records are said to be more than a journal keeps: nobody reads so many.
[[nodiscard]] Result<JournalState> decode_state(std::string_view bytes);

/// "The key may have changed by the write of this sequence."
struct JournalRecord {
  std::uint64_t sequence = 0;
  Key key;
};
[[nodiscard]] std::string encode_record(const JournalRecord& record);
[[nodiscard]] Result<std::vector<JournalRecord>> decode_records(std::string_view bytes);

}  // namespace muster::file
