#include "store/file/worker.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace muster::file {
namespace {

// A caller bounds itself by waiting for answers; past this it is told kThrottled.
constexpr std::size_t kJobsMax = 4096;
// So many jobs share one hold of the lock; then the other processes have their turn.
constexpr int kJobsPerLock = 32;
constexpr Duration kLockWaitMin = 20us;
constexpr Duration kLockWaitMax = 2ms;
// A watcher that could not look at the journal tries again after this.
constexpr Duration kRetry = 1s;

}  // namespace

Worker::Worker(Directory& directory) : directory_(directory), lock_wait_(kLockWaitMin) {
  if (Status s = waiter_.watch(directory_.journal_fd()); !s) {
    log_warn("changes by other processes are seen late", {{"error", s.error().message}});
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

std::optional<int> Worker::blocked_by() const {
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
    run_lock_free_jobs();
    if (waiter_.wait(run_locked_jobs())) mark_watchers_due();
  }
}

void Worker::follow_directory() {
  // While it stays away, each call is told so.
  if (!directory_.removed() || !directory_.reopen()) return;
  log_warn("the store's directory was removed and has come back; what it held is gone", {});
  if (Status s = waiter_.watch(directory_.journal_fd()); !s) {
    log_warn("changes by other processes are seen late", {{"error", s.error().message}});
  }
  mark_watchers_due();
}

void Worker::run_lock_free_jobs() {
  while (auto next = take(false)) next->job(Done{});
}

Duration Worker::run_locked_jobs() {
  const std::vector<std::uint64_t> due = due_watchers();
  {
    MutexLock lock(mutex_);
    if (stopping_ || (locked_.empty() && due.empty())) return Duration::max();
  }
  const auto locked = directory_.try_lock();
  if (!locked) {
    while (auto next = take(true)) next->job(locked.error());
    return due.empty() ? Duration::max() : kRetry;
  }
  const auto holder = *locked ? std::nullopt : std::optional(directory_.holder());
  {
    MutexLock lock(mutex_);
    blocked_by_ = holder;
  }
  if (!*locked) {
    lock_wait_ = std::min(lock_wait_ * 2, kLockWaitMax);
    return lock_wait_;
  }
  lock_wait_ = kLockWaitMin;
  for (const std::uint64_t id : due) pump(id);
  for (int i = 0; i < kJobsPerLock; ++i) {
    auto next = take(true);
    if (!next) break;
    next->job(Done{});
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
