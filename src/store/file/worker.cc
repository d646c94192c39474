#include "store/file/worker.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "platform/system_clock.h"

namespace muster::file {
namespace {

// A caller bounds itself by waiting for answers; past this it is told kThrottled.
constexpr std::size_t kJobsMax = 4096;
// So many jobs share one hold of the lock, for so long; then the other processes have their turn.
constexpr int kJobsPerLock = 32;
constexpr Duration kHoldMax = 20ms;
// So many jobs without the lock run before those that wait for it have their turn.
constexpr int kLockFreeJobs = 64;
// How often an idle worker checks whether the directory is still the one at its
// path.
constexpr Duration kLook = 500ms;
constexpr Duration kLockWaitMin = 20us;
constexpr Duration kLockWaitMax = 2ms;
// A watcher that could not look at the journal tries again after this.
constexpr Duration kRetry = 1s;

}  // namespace

Worker::Worker(Directory& directory)
    : directory_(directory), openings_(directory.openings()), lock_wait_(kLockWaitMin) {
  if (Status s = waiter_.watch(directory_.journal_fd()); !s) {
    log_warn("changes by other processes will be seen late", {{"error", s.error().message}});
  }
  thread_ = std::thread([this] { run(); });
}

Worker::~Worker() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  waiter_.wake();
  thread_.join();
}

std::optional<Worker::JobId> Worker::submit(bool needs_lock, Job job) {
  JobId id = 0;
  {
    MutexLock lock(mutex_);
    if (lock_free_.size() + locked_.size() >= kJobsMax) return {};
    id = next_id_++;
    (needs_lock ? locked_ : lock_free_).push_back({id, std::move(job)});
  }
  waiter_.wake();
  return id;
}

bool Worker::withdraw(JobId id) {
  MutexLock lock(mutex_);
  for (std::deque<Queued>* queue : {&lock_free_, &locked_}) {
    const auto it = std::find_if(queue->begin(), queue->end(),
                                 [&](const Queued& queued) { return queued.id == id; });
    if (it == queue->end()) continue;
    queue->erase(it);
    return true;
  }
  return false;
}

std::optional<Worker::Blocked> Worker::blocked_by() const {
  MutexLock lock(mutex_);
  return blocked_by_;
}

std::uint64_t Worker::add_watcher(std::string prefix, Position since, Deliver deliver) {
  std::uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    id = next_id_++;
    watchers_.emplace(id, Watcher{std::move(prefix), since, std::move(deliver)});
  }
  waiter_.wake();
  return id;
}

void Worker::delivered(std::uint64_t watcher) {
  {
    MutexLock lock(mutex_);
    const auto it = watchers_.find(watcher);
    if (it == watchers_.end()) return;
    it->second.delivering = false;
  }
  waiter_.wake();
}

void Worker::remove_watcher(std::uint64_t watcher) {
  MutexLock lock(mutex_);
  watchers_.erase(watcher);
}

bool Worker::stopping() {
  MutexLock lock(mutex_);
  return stopping_;
}

std::optional<Worker::Queued> Worker::take(bool needs_lock) {
  MutexLock lock(mutex_);
  std::deque<Queued>& queue = needs_lock ? locked_ : lock_free_;
  if (stopping_ || queue.empty()) return {};
  Queued first = std::move(queue.front());
  queue.pop_front();
  return first;
}

void Worker::run() {
  while (!stopping()) {
    follow_directory();
    const bool more = run_lock_free_jobs();
    const Duration idle = std::min(run_locked_jobs(), kLook);
    if (waiter_.wait(more ? Duration(0) : idle)) mark_watchers_due();
  }
}

void Worker::follow_directory() {
  const MonoTime now = boot_now();
  if (const Status here = directory_.at_path(); here) {
    // A writer finds out by itself that the lock or the journal is missing; so this is for
    // those that only read.
    if (now >= look_at_ && !directory_.in_place()) {
      if (const auto locked = directory_.try_lock(); locked && *locked) directory_.unlock();
      directory_.stop_waiting();
    }
  } else if (directory_.reopen()) {
    log_warn("another directory is at the store's path; continuing there, as in another store",
             {{"why", here.error().message}});
    // They were meant for the old one. Their callers look at the new one before they go on.
    fail_locked_jobs(here.error());
  }
  if (now >= look_at_) look_at_ = now + kLook;
  if (openings_ == directory_.openings()) return;
  openings_ = directory_.openings();
  if (Status s = waiter_.watch(directory_.journal_fd()); !s) {
    log_warn("changes by other processes will be seen late", {{"error", s.error().message}});
  }
  mark_watchers_due();
}

bool Worker::run_lock_free_jobs() {
  for (int i = 0; i < kLockFreeJobs; ++i) {
    auto next = take(false);
    if (!next) return false;
    next->job(Done{});
  }
  return true;
}

void Worker::fail_locked_jobs(const Error& error) {
  while (auto next = take(true)) next->job(error);
}

Duration Worker::run_locked_jobs() {
  const std::vector<std::uint64_t> due = due_watchers();
  {
    MutexLock lock(mutex_);
    if (stopping_ || (locked_.empty() && due.empty())) {
      directory_.stop_waiting();
      return Duration::max();
    }
  }
  const auto locked = directory_.try_lock();
  if (!locked) {
    fail_locked_jobs(locked.error());
    return due.empty() ? Duration::max() : kRetry;
  }
  const auto holder = *locked ? std::nullopt : std::optional(directory_.holder());
  {
    MutexLock lock(mutex_);
    if (!holder) {
      blocked_by_.reset();
    } else if (!blocked_by_ || blocked_by_->holder != *holder) {
      blocked_by_ = Blocked{*holder, boot_now()};
    }
  }
  if (!*locked) {
    lock_wait_ = std::min(lock_wait_ * 2, kLockWaitMax);
    return lock_wait_;
  }
  lock_wait_ = kLockWaitMin;
  const MonoTime until = boot_now() + kHoldMax;
  for (const std::uint64_t id : due) pump(id);
  for (int i = 0; i < kJobsPerLock; ++i) {
    auto next = take(true);
    if (!next) break;
    next->job(Done{});
    if (boot_now() >= until) break;
  }
  directory_.unlock();
  return Duration(0);
}

std::vector<std::uint64_t> Worker::due_watchers() {
  MutexLock lock(mutex_);
  std::vector<std::uint64_t> due;
  for (auto& [id, watcher] : watchers_) {
    if (!watcher.due || watcher.delivering) continue;
    // Most wake-ups are the end of a change already seen, and need no lock to be known as such.
    watcher.due = directory_.may_have_changed(watcher.position);
    if (watcher.due) due.push_back(id);
  }
  return due;
}

void Worker::pump(std::uint64_t id) {
  std::string prefix;
  Position since;
  {
    MutexLock lock(mutex_);
    const auto it = watchers_.find(id);
    if (it == watchers_.end()) return;
    prefix = it->second.prefix;
    since = it->second.position;
  }
  auto changes = directory_.changes(prefix, since);
  MutexLock lock(mutex_);
  const auto it = watchers_.find(id);
  if (it == watchers_.end()) return;
  if (!changes) {
    log_warn("the journal cannot be read", {{"error", changes.error().message}});
    return;
  }
  it->second.due = false;
  it->second.position = changes->position;
  if (changes->events.empty()) return;
  it->second.delivering = true;
  it->second.deliver(std::move(changes->events));
}

void Worker::mark_watchers_due() {
  MutexLock lock(mutex_);
  for (auto& [id, watcher] : watchers_) watcher.due = true;
}

}  // namespace muster::file
