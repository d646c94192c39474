#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "platform/unique_fd.h"
#include "store/file/format.h"

namespace muster::file {

/// The position of a watcher: everything up to a sequence of one generation.
struct Position {
  std::uint64_t generation = 0;  ///< 0: the journal's beginning, in any generation.
  std::uint64_t sequence = 0;

  [[nodiscard]] std::string cursor() const;
  [[nodiscard]] static std::optional<Position> parse(std::string_view cursor);
};

/// Numbers the writes of a directory and records which keys the latest of them touched. A record is
/// written before its change, under the lock, and watchers read it afterwards: an announced change
/// may not happen in the end, but no change is unannounced.
///
/// Threads: one, with the directory's lock held, except for read().
class Journal {
 public:
  explicit Journal(UniqueFd file);

  /// The state on disk, if it was written since this machine was booted. Needs no lock. Any
  /// thread.
  [[nodiscard]] Result<JournalState> read() const;

  /// Continues from the state on disk.
  [[nodiscard]] Status load();
  /// Begins anew after `sequence`. All earlier cursors become invalid.
  [[nodiscard]] Status restart(std::uint64_t sequence, std::uint64_t generation);
  /// Announces that `key` will change, by the write with the sequence that state() then has.
  [[nodiscard]] Status begin(const Key& key, InFlight what);
  /// The change is finished and durable. If this record does not reach the disk, the next writer
  /// repeats the cleanup, which does no harm.
  void settle();

  [[nodiscard]] const JournalState& state() const { return state_; }
  /// Nothing when records after `since` are missing.
  [[nodiscard]] Result<std::optional<std::vector<JournalRecord>>> after(
      const Position& since) const;
  /// Written at every begin() and settle().
  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  [[nodiscard]] Status write_state();

  const UniqueFd file_;
  const std::string boot_id_;
  JournalState state_;
};

}  // namespace muster::file
