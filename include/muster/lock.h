#pragma once

#include <muster/arbiter.h>
#include <muster/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace muster::api {
class LockCore;
}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

/// How to take a lock. `permits`, and whether `shared` is set, must be the same in every process
/// that takes the lock: the store keeps the values of the first one.
struct LockOptions {
  /// A holder that was silent for this long loses the lock to others. 100 ms to 24 h. Others wait
  /// for the holder's own value.
  Duration ttl = Duration(6'000'000'000);
  /// The time to wait for the lock. 0: tries once.
  Duration wait = Duration::max();
  /// Ends the wait. May be requested by a signal handler.
  std::stop_token stop{};
  /// How many may hold the lock at once, at most 64. 1 is a mutex, more is a semaphore; of a
  /// read/write lock, the number of readers. 0: 1, or 8 of a read/write lock.
  std::uint32_t permits = 0;
  /// Set: a read/write lock. True takes it for reading, beside other readers; false for writing,
  /// alone.
  std::optional<bool> shared{};
  /// Called once when the lock was lost without unlock(): it was not renewed in time
  /// (kUnavailable), another process has taken it over (kConflict), or its state in the store is
  /// damaged (kCorrupt). On the callback thread.
  std::function<void(const Error&)> on_lost{};
};

/// A lock that this process holds: a mutex, a permit of a semaphore, or a read/write lock.
///
/// The lock is renewed until it is unlocked or lost. The same name may be taken again and again, by
/// several threads of one process, too: each acquire() is a holder of its own. A lock has no owner
/// thread and is not recursive. It has nothing to do with an election of the same name.
///
/// Not guaranteed: that work has stopped when the lock is lost. A thread that was paused between
/// asking held() and acting acts late. What must never happen twice carries token() to the
/// resource, and the resource refuses lower ones (fence.h). Nor is any order among those that wait:
/// there is no queue.
///
/// The destructor is unlock(). In a callback it does not wait.
///
/// Threads: any, but only one may move or destroy the object. acquire() and unlock() are refused
/// with kInvalid in a callback, for which they would wait.
class MUSTER_EXPORT Lock {
 public:
  /// Waits until this process holds the lock.
  ///
  /// kTimeout after `wait`, with `wait` 0 if the lock is not free; kCancelled when `stop` is
  /// requested; kInvalid names the wrong option, for example a number of permits other than that in
  /// the store; kUnsupported when the store cannot judge a lock. Failures that pass are retried
  /// within `wait`. What was begun is given back first, so that it may return up to two request
  /// timeouts later (each a fifth of the ttl, at most 5 s).
  [[nodiscard]] static Result<Lock> acquire(const Arbiter& arbiter, const std::string& name,
                                            LockOptions options = {});
  Lock(Lock&&) noexcept;
  Lock& operator=(Lock&&) noexcept;
  ~Lock();

  /// True while this process holds the lock, compared with the clock now. Once false it stays
  /// false.
  [[nodiscard]] bool held() const;
  /// The time until the lock is lost without another renewal; zero once it is not held.
  [[nodiscard]] Duration left() const;
  /// Higher than the token of every earlier holder of a mutex, and of every earlier writer of a
  /// read/write lock.
  ///
  /// Not guaranteed: anything about the tokens of a semaphore's holders and of readers. They rise
  /// for each permit, so two holders may have the same one, and a later holder may have a lower
  /// one. A reader's token says nothing about a writer's.
  [[nodiscard]] Token token() const;
  /// Releases the lock, so that the next holder starts at once, or where the arbiter pushes no
  /// changes (S3), within a quarter of its ttl. No callback runs afterwards.
  ///
  /// Returns the reason if the lock had been lost before. kAmbiguous: it is not held any more, but
  /// the store has not confirmed the release; others may have to wait for the ttl. A second call
  /// has no effect.
  Status unlock();

 private:
  explicit Lock(std::shared_ptr<muster::api::LockCore> core);
  std::shared_ptr<muster::api::LockCore> core_;
};

MUSTER_END_NAMESPACE
