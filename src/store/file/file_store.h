#pragma once

#include <memory>

#include "base/loop.h"
#include "base/result.h"
#include "store/store.h"
#include "store/url.h"

namespace muster {

/// What a file store has asked of the disk since it was opened.
struct FileStoreStats {
  std::uint64_t syncs = 0;
};

/// `file:///dir` — the embedded default: a directory shared by the processes of one host. Durable
/// when a write is acknowledged, atomic between processes, and whole after a kill -9 or a power
/// loss at any moment. Can do everything an ObjectStore may be able to do.
///
/// Does not promise anything to other hosts: on NFS and its like it says so in the log and in
/// describe(). Does not survive a second directory with the same content (a copy made meanwhile).
///
/// A process stopped while it writes (SIGSTOP) holds up the other writers, who time out with a
/// sentence that names it; reading goes on. Its own thread waits for the disk, so a hung one costs
/// callers their deadlines and nothing else, except that destroying the store waits for it.
///
/// At most 4,096 calls may be under way; further ones end with kThrottled.
class FileStore : public ObjectStore {
 public:
  [[nodiscard]] virtual FileStoreStats stats() const = 0;
};

/// Makes the directory (mode 0700) when it is absent and its parent is there. Options of the
/// address: `sync=off` acknowledges writes that a power loss may take, for tests and measurements;
/// `page=N` is how many objects a page of a list holds.
[[nodiscard]] Result<std::unique_ptr<FileStore>> open_file_store(const Url& url, Loop& loop);

}  // namespace muster
