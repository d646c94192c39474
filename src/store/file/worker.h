#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "platform/files.h"
#include "store/file/directory.h"

namespace muster::file {

/// The thread that runs a store's blocking calls. Jobs that need the directory's lock retry until
/// they get it, without delaying other jobs.
///
/// The destructor waits for the running job, as long as the disk takes, and drops the others.
/// Threads: any.
class Worker {
 public:
  using JobId = std::uint64_t;
  /// Called with Ok, or with the reason why the lock was not available.
  using Job = std::function<void(const Status& ready)>;
  using Deliver = std::function<void(std::vector<WatchEvent>)>;

  explicit Worker(Directory& directory);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Returns nothing, and drops the job, if too many jobs wait.
  [[nodiscard]] std::optional<JobId> submit(bool needs_lock, Job job) MUSTER_EXCLUDES(mutex_);
  /// True if the job had not begun; then it will not run.
  [[nodiscard]] bool withdraw(JobId id) MUSTER_EXCLUDES(mutex_);
  /// The process whose lock the jobs wait for.
  struct Blocked {
    int holder;      ///< 0 if it is unknown.
    MonoTime since;  ///< No other process was seen to hold the lock since then.
  };
  /// Nothing if no job waits.
  [[nodiscard]] std::optional<Blocked> blocked_by() const MUSTER_EXCLUDES(mutex_);

  /// Delivers the changes after `since`, on the worker's thread, batch by batch. The next batch
  /// follows only after delivered(), so a slow watcher holds at most one batch.
  [[nodiscard]] std::uint64_t add_watcher(std::string prefix, Position since, Deliver deliver)
      MUSTER_EXCLUDES(mutex_);
  void delivered(std::uint64_t watcher) MUSTER_EXCLUDES(mutex_);
  void remove_watcher(std::uint64_t watcher) MUSTER_EXCLUDES(mutex_);

 private:
  struct Queued {
    JobId id;
    Job job;
  };
  struct Watcher {
    std::string prefix;
    Position position;
    Deliver deliver;
    bool due = true;  ///< The journal was written since it was last read.
    bool delivering = false;
  };

  void run();
  /// Continues in the directory that is at the path now, or with a new lock and journal.
  void follow_directory() MUSTER_EXCLUDES(mutex_);
  void fail_locked_jobs(const Error& error) MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] bool stopping() MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<Queued> take(bool needs_lock) MUSTER_EXCLUDES(mutex_);
  /// Runs some of them; true if more are waiting.
  [[nodiscard]] bool run_lock_free_jobs() MUSTER_EXCLUDES(mutex_);
  /// The wait before the next try for the lock; max if no job waits for it.
  [[nodiscard]] Duration run_locked_jobs() MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<std::uint64_t> due_watchers() MUSTER_EXCLUDES(mutex_);
  void pump(std::uint64_t id) MUSTER_EXCLUDES(mutex_);
  void mark_watchers_due() MUSTER_EXCLUDES(mutex_);

  Directory& directory_;
  files::FileWaiter waiter_;
  MonoTime look_at_{};
  std::uint64_t openings_;  ///< Of the directory, when its journal was last opened.
  Duration lock_wait_;
  mutable Mutex mutex_;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  JobId next_id_ MUSTER_GUARDED_BY(mutex_) = 1;
  std::deque<Queued> lock_free_ MUSTER_GUARDED_BY(mutex_);
  std::deque<Queued> locked_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Watcher> watchers_ MUSTER_GUARDED_BY(mutex_);
  std::optional<Blocked> blocked_by_ MUSTER_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace muster::file
