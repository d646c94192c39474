#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// Clang proves at compile time that data marked MUSTER_GUARDED_BY a mutex is touched only while the
// mutex is held.
#if defined(__clang__)
#define MUSTER_ANNOTATE(x) __attribute__((x))
#else
#define MUSTER_ANNOTATE(x)
#endif
#define MUSTER_GUARDED_BY(x) MUSTER_ANNOTATE(guarded_by(x))
#define MUSTER_REQUIRES(...) MUSTER_ANNOTATE(requires_capability(__VA_ARGS__))
#define MUSTER_EXCLUDES(...) MUSTER_ANNOTATE(locks_excluded(__VA_ARGS__))

namespace muster {

class MUSTER_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() MUSTER_ANNOTATE(acquire_capability()) { mutex_.lock(); }
  void unlock() MUSTER_ANNOTATE(release_capability()) { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

class MUSTER_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MUSTER_ANNOTATE(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() MUSTER_ANNOTATE(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  /// Releases the mutex while waiting; spurious wake-ups happen.
  void wait(std::condition_variable& ready) { ready.wait(lock_); }
  /// Like wait(), but for at most `limit`.
  void wait_for(std::condition_variable& ready, std::chrono::nanoseconds limit) {
    ready.wait_for(lock_, limit);
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace muster
