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

/// How far a watcher has come: everything up to a sequence of one generation.
struct Position {
  std::uint64_t generation = 0;  ///< 0: the journal's beginning, whichever generation it has.
  std::uint64_t sequence = 0;

  [[nodiscard]] std::string cursor() const;
  [[nodiscard]] static std::optional<Position> parse(std::string_view cursor);
};

/// Numbers the writes of a directory and says which keys the latest of them touched. A record is
/// written before its change and read by watchers after it, under the lock: a change can be
/// announced that did not happen in the end, never the other way round.
///
/// One thread, with the directory's lock held, except for read().
class Journal {
 public:
  explicit Journal(UniqueFd file);

  /// The state on disk, if it was written since this machine was started. Needs no lock; any
  /// thread.
  [[nodiscard]] Result<JournalState> read() const;

  /// Takes the state on disk as the one to go on from.
  [[nodiscard]] Status load();
  /// Begins anew after `sequence`. No cursor given out earlier is good for it.
  [[nodiscard]] Status restart(std::uint64_t sequence, std::uint64_t generation);
  /// Says that `key` is about to change, by the write of the sequence that state() then has.
  [[nodiscard]] Status begin(const Key& key, InFlight what);
  /// The change is over and durable. If this does not reach the disk, the next writer sees to the
  /// same change again, which does no harm.
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
