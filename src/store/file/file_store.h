#pragma once

#include <memory>

#include "base/loop.h"
#include "base/result.h"
#include "store/store.h"
#include "store/url.h"

namespace muster {

/// The disk operations of a file store since it was opened.
struct FileStoreStats {
  std::uint64_t syncs = 0;
};

/// The store at `file:///dir`, the embedded default: a directory that the processes of one host
/// share. Guarantees: an acknowledged write is durable; writes are atomic between processes; the
/// store is intact after a kill -9 or a power loss at any moment. It has all optional capabilities.
///
/// Not guaranteed: anything between hosts (on NFS and similar, the log and describe() say so), and
/// protection against a copy of the directory that is put in its place.
///
/// A process that is stopped while it writes (SIGSTOP) blocks other writers, whose calls time out
/// with a message that names it; reads go on. The store's own thread waits for the disk, so a hung
/// disk costs callers only their deadlines, except that the destructor waits for it.
///
/// At most 4,096 calls may be under way; further ones end with kThrottled.
class FileStore : public ObjectStore {
 public:
  [[nodiscard]] virtual FileStoreStats stats() const = 0;
};

/// Creates the directory (mode 0700) if it is missing and its parent exists. Options of the
/// address: `sync=off` acknowledges writes that a power loss may undo, for tests and measurements;
/// `page=N` is the number of objects in one page of a list.
[[nodiscard]] Result<std::unique_ptr<FileStore>> open_file_store(const Url& url, Loop& loop);

}  // namespace muster
