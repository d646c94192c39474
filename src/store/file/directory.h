#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "platform/files.h"
#include "platform/waiting_line.h"
#include "store/file/format.h"
#include "store/file/journal.h"
#include "store/store.h"

namespace muster::file {

/// One step of a watch: the changes, in order, and the watcher's new position.
struct Changes {
  std::vector<WatchEvent> events;
  Position position;
};

/// The objects of one directory, by blocking calls. Writers of all processes take turns by its
/// lock, in order of arrival. An object is replaced by rename, so a reader without the lock sees a
/// whole object, old or new, even if a writer dies.
///
/// Guarantees: no reader sees a write that a power loss could still undo. If a write is visible but
/// not known to be durable, the reader syncs it before it answers.
///
/// A file that is not an object (after a power loss without syncs, or on a bad disk) is returned as
/// damaged, with its own revision, at which a writer may replace or remove it. Only a file in a
/// newer format is an error: its writer knows more.
///
/// A store is the directory at its path now, not an earlier one. If that was renamed, removed or
/// mounted over, or a link in the path changed, every call fails until reopen() continues in the
/// directory that is at the path now. That is another store: no revision or cursor of the old one
/// is valid there. A directory that lost its lock or journal stays the same store; the next holder
/// of the lock makes them again.
///
/// Threads: one; settled_position(), may_have_changed() and syncs() may be called from any.
class Directory {
 public:
  struct Options {
    bool sync = true;  ///< false: a power loss may undo acknowledged writes.
    std::size_t page_size = 1000;
  };

  /// Creates the directory if it is missing and its parent exists.
  [[nodiscard]] static Result<std::unique_ptr<Directory>> open(const std::string& path,
                                                               Options options);

  /// Ok while the path leads to this directory and the directory has its lock and journal.
  [[nodiscard]] Status in_place() const;
  /// Ok while the path leads to this directory, whatever its content.
  [[nodiscard]] Status at_path() const;
  /// Continues in the directory that is at the path now. Never creates it: that is up to the person
  /// who removed it. Does not need the lock.
  [[nodiscard]] Status reopen();
  /// Changes when journal_fd() refers to another file.
  [[nodiscard]] std::uint64_t openings() const { return openings_; }

  [[nodiscard]] Result<Object> get(const Key& key, const std::optional<Revision>& unless);

  /// False while another process holds the lock (see holder()) or has waited for it longer. With
  /// true, half-done work of other writers has been cleaned up. After false, ask again or call
  /// stop_waiting(): others may be waiting behind.
  [[nodiscard]] Result<bool> try_lock();
  void stop_waiting() { line_.leave(); }
  void unlock();
  /// The process that holds the lock; 0 if unknown.
  [[nodiscard]] int holder() const;

  // These functions need the lock.
  [[nodiscard]] Result<Revision> put(const Key& key, const std::string& body,
                                     const Precondition& when, const std::optional<Guard>& guard);
  [[nodiscard]] Status remove(const Key& key, const std::optional<Revision>& when);
  [[nodiscard]] Result<ListPage> list(const std::string& prefix, const std::string& from);
  /// The changes after `since` of keys that begin with `prefix`; a kReset if they are unknown.
  [[nodiscard]] Result<Changes> changes(const std::string& prefix, const Position& since);
  /// Removes files that a killed writer has left beside the objects.
  [[nodiscard]] Status sweep();

  /// The position from which a watch sees every unfinished write. Reads one cached page.
  [[nodiscard]] Position settled_position() const;
  /// False if changes() would certainly find nothing.
  [[nodiscard]] bool may_have_changed(const Position& since) const;
  [[nodiscard]] int journal_fd() const { return journal_.fd(); }
  /// "NFS" or similar, or empty: see files::foreign_file_system().
  [[nodiscard]] const std::string& foreign() const { return foreign_; }
  /// How often this store has waited for the disk.
  [[nodiscard]] std::uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }

 private:
  struct Opened {
    UniqueFd root;
    UniqueFd lock;
    UniqueFd journal;
  };

  Directory(std::string path, Options options, Opened opened);
  [[nodiscard]] static Result<Opened> open_files(const std::string& path, UniqueFd root);

  /// A failure that leaves the store unchanged. The caller asked for none of the files that the
  /// system could not find.
  [[nodiscard]] static Error in_store(const std::string& path, const Error& error);
  struct Ids {
    files::FileId root;
    files::FileId lock;
    files::FileId journal;
  };
  [[nodiscard]] static Ids ids_of(int root, int lock, int journal);
  [[nodiscard]] Result<bool> take_locks();
  [[nodiscard]] Result<bool> restore_files(const Error& missing);
  [[nodiscard]] Status ready_to_write();
  [[nodiscard]] Error about(const std::string& name, const Error& error) const;
  [[nodiscard]] Result<ObjectHeader> header(const std::string& name) const;
  [[nodiscard]] Status holds(const Key& key, const Precondition& when) const;
  [[nodiscard]] bool is_damaged_as(const std::string& name, const Revision& revision) const;
  [[nodiscard]] Revision listed_revision(const std::string& name,
                                         const Result<files::Content>& beginning) const;
  void report(const std::string& damage, const Revision& revision);
  [[nodiscard]] Status sync(int fd);
  [[nodiscard]] Status sync_parent(const std::string& name);
  [[nodiscard]] Status ensure_durable(const std::string& name, std::optional<std::uint64_t> seen);
  [[nodiscard]] Status write_temporary(std::string_view bytes);
  [[nodiscard]] Status move_into_place(const std::string& name);
  [[nodiscard]] Status make_parents(const std::string& name);
  void remove_empty_parents(std::string name);
  [[nodiscard]] Status put_in_order();
  [[nodiscard]] Result<std::uint64_t> highest_sequence() const;
  [[nodiscard]] Status collect(const std::string& directory, const std::string& prefix,
                               const std::string& from, std::vector<Key>& keys) const;

  const std::string path_;
  const Options options_;
  const UniqueFd root_;
  files::FileLock lock_;
  Journal journal_;
  files::WaitingLine line_;
  Ids ids_;                             ///< Of the open files.
  std::optional<MonoTime> bare_since_;  ///< Its lock or journal is missing.
  std::uint64_t openings_ = 0;
  const std::string foreign_;  ///< As found when it was opened.
  bool local_;                 ///< Not on NFS or similar, where directories cannot be locked.
  Random random_;
  std::unordered_set<std::string> reported_;  ///< Damage that has been logged.
  std::atomic<std::uint64_t> syncs_{0};
};

}  // namespace muster::file
