#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/log/position.h"

namespace muster::rlog {

enum class EntryKind {
  kCommands = 0,
  kBarrier = 1,  ///< A new leader's first entry; it carries no command.
  kSeal = 2,     ///< The log's last entry in this store.
};

struct EntryHeader {
  Index index;
  Epoch epoch;
  Incarnation incarnation;
  Nonce nonce;
  LogTime time{};
  WallTime wall{};  ///< The leader's wall clock: a label, for people.
  EntryKind kind = EntryKind::kCommands;
  Digest previous{};  ///< The chain hash at index − 1.
};

/// A decoded entry. The commands are views into the body it was decoded from.
struct Entry {
  EntryHeader header;
  std::vector<std::string_view> commands;
  std::optional<Seal> seal;  ///< With kSeal.
  Digest chain{};            ///< The chain hash at this index.
};

/// Bytes of an entry without its commands: header, tags and digest, at most this.
inline constexpr std::size_t kEntryOverheadMax = 4096;
/// The overhead of one command in bytes.
inline constexpr std::size_t kCommandOverhead = 6;

/// One string, built once; docs/formats.md describes the bytes.
[[nodiscard]] std::string encode_entry(const EntryHeader& header,
                                       std::span<const std::string> commands,
                                       const std::optional<Seal>& seal = {});

/// kCorrupt if the bytes were changed, kUnsupported if a newer version wrote them.
[[nodiscard]] Result<Entry> decode_entry(std::string_view body);
/// Like decode_entry(), for bytes that this process has just encoded: their digest is not computed
/// again.
[[nodiscard]] Result<Entry> decode_own_entry(std::string_view body);

/// The effect of an entry, given the position before it.
enum class Verdict {
  kAccepted,
  kVoid,  ///< It takes its number without effect: a lower epoch, or after a seal (L2, L9).
};

/// Whether this writer may write the number after `position` (L2).
[[nodiscard]] bool may_write(const Position& position, Epoch epoch, const Incarnation& incarnation);
/// kCorrupt if `entry` does not follow `position`: another number, or a broken chain (L1).
[[nodiscard]] Result<Verdict> judge(const Position& position, const Entry& entry);
/// The position after `entry`.
void advance(Position& position, const Entry& entry, Verdict verdict);

}  // namespace muster::rlog
