#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "platform/unique_fd.h"

/// The file-system calls a durable store is made of, each with a Result instead of errno. Names
/// are relative to an open directory, so nobody can move the store away between two calls.
/// Nothing here retries, except calls interrupted by a signal. Any thread.
namespace muster::files {

/// One sentence for a failed call: "cannot `doing` `name`: the disk is full". The two are apart so
/// that a caller allocates nothing before it has read errno, which malloc may change.
[[nodiscard]] Error failure(int error_number, std::string_view doing, std::string_view name = {});

/// Makes the directory (mode 0700) if it is absent and its parent is there, and opens it.
[[nodiscard]] Result<UniqueFd> open_or_make_directory(const std::string& path);
/// Opens it if it is there.
[[nodiscard]] Result<UniqueFd> open_directory(const std::string& path);
/// Lets the descriptor `fd` stand for another open file from now on, in one step: a thread that
/// uses it meanwhile meets the old one or the new one.
[[nodiscard]] Status replace(int fd, const UniqueFd& by);
/// As openat(2), always close-on-exec; new files have mode 0600.
[[nodiscard]] Result<UniqueFd> open_at(int directory, const std::string& name, int flags);

struct Content {
  std::string bytes;
  std::uint64_t size = 0;  ///< Of the whole file, also when only its beginning was read.
  WallTime written;
};
/// The file's first `bytes_max` bytes. kNotFound when there is no such file.
[[nodiscard]] Result<Content> read(int directory, const std::string& name, std::size_t bytes_max);
/// Up to `bytes` bytes from `offset`; fewer only at the end of the file.
[[nodiscard]] Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t bytes);
[[nodiscard]] Status write_at(int fd, std::uint64_t offset, std::string_view bytes);

/// Until this answers, a power loss may undo what was written to `fd`, a file or a directory.
[[nodiscard]] Status sync(int fd);
/// As sync(), for everything on the file system that holds `fd`.
[[nodiscard]] Status sync_all(int fd);

[[nodiscard]] Status make_directory(int directory, const std::string& name);
[[nodiscard]] Status rename(int directory, const std::string& from, const std::string& to);
/// Lets two files change their names, in one step. False when `b` is absent or the file system
/// cannot do it; nothing has changed then.
[[nodiscard]] bool exchange(int directory, const std::string& a, const std::string& b);
[[nodiscard]] Status unlink(int directory, const std::string& name);
/// True when the directory was empty and is gone.
[[nodiscard]] bool remove_if_empty(int directory, const std::string& name);

/// A FileId names a file or directory on this host while it is open: no other has the
/// same one, whatever its path.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};
[[nodiscard]] Result<FileId> id_of(int fd);
/// The file or directory that the path leads to now, through links and mounts.
[[nodiscard]] Result<FileId> id_at(const std::string& path);
/// The entry of a directory; a link is not followed.
[[nodiscard]] Result<FileId> id_at(int directory, const std::string& name);

struct Entry {
  std::string name;
  bool is_directory;
};
/// What the directory holds, in no order, without "." and "..". kNotFound when it is absent.
[[nodiscard]] Result<std::vector<Entry>> entries(int directory, const std::string& name);

/// "NFS", "CIFS", "FUSE" …: a file system that other hosts may change, or whose locks and syncs
/// are another program's promise. Empty for one that is local.
[[nodiscard]] std::string foreign_file_system(int fd);

/// Changes with every start of the kernel, and with nothing else.
[[nodiscard]] std::string boot_id();
[[nodiscard]] int process_id();

/// Takes an exclusive lock (flock) on an open file or directory. False when another holds it.
[[nodiscard]] Result<bool> try_flock(int fd);
void release_flock(int fd);
/// The process that has such a lock on the file, whatever program it runs, as the kernel tells it;
/// 0 when it does not: without /proc, or from outside of a container.
[[nodiscard]] int flock_holder(int fd);

/// An exclusive lock between processes, and between two of these in one process. The kernel
/// releases it when its holder dies, however that comes about. One thread.
class FileLock {
 public:
  /// `file` must be writable: the holder writes its process id into it, for people.
  explicit FileLock(UniqueFd file) : file_(std::move(file)) {}

  /// False when another holds it. Never blocks on the other holder.
  [[nodiscard]] Result<bool> try_lock();
  void unlock();
  /// The process that has it; 0 when that cannot be told, as of a program that is not this one.
  [[nodiscard]] int holder() const;
  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  UniqueFd file_;
};

/// Lets a thread wait for another thread's wake() or for a write to one file by any process of
/// this host. Writes that come together may be reported as one; none is lost. wake() is for any
/// thread, the rest for the one that waits.
class FileWaiter {
 public:
  FileWaiter();

  /// From now on writes to this file, and to no other, end a wait. kUnavailable when the kernel has
  /// no more watches.
  [[nodiscard]] Status watch(int fd);
  void wake();
  /// Until a wake-up or, unless it is Duration::max(), for `limit`. True when the file was written
  /// since the last call.
  [[nodiscard]] bool wait(Duration limit);

 private:
  UniqueFd wake_;
  UniqueFd inotify_;
  int watched_ = -1;  ///< The watch of the file, as inotify numbers it.
};

}  // namespace muster::files
