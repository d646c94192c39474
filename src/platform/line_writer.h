#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/time.h"

namespace muster {

/// Lines for a descriptor, written by a thread of its own: who has something to tell never waits
/// for a reader, not even for one that has stopped reading without going away.
///
/// Guarantees: lines come out whole, in the order in which they were given, or not at all. The
/// flags of the descriptor, which other processes may share, are left alone. Does not guarantee
/// that a line comes out: once `bytes_max` wait, further ones are dropped, and when there is room
/// again, a warning is logged that says how many.
///
/// A write that fails, because the reader has gone or the disk is full, breaks it for good:
/// further lines are dropped, and the callback of when_broken() is called.
///
/// Any thread. The destructor waits until the reader has taken what it was given; who cannot wait
/// asks drain() first, and ends the process if that says no.
class LineWriter {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{256} * 1024;

  explicit LineWriter(int fd, std::size_t bytes_max = kBytesMax) : fd_(fd), bytes_max_(bytes_max) {}
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// One line or more, each with its newline. False when they were dropped.
  bool write(std::string lines) MUSTER_EXCLUDES(mutex_);
  /// True once everything was written; false when that takes longer than `limit`.
  [[nodiscard]] bool drain(Duration limit) MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] bool broken() MUSTER_EXCLUDES(mutex_);
  /// The number of the error that broke it; 0 when it is not broken.
  [[nodiscard]] int error() MUSTER_EXCLUDES(mutex_);
  /// Calls `told` once, on the thread that writes, or at once when it is broken already; an empty
  /// one takes the wish back, and then `told` is not running any more.
  void when_broken(std::function<void()> told) MUSTER_EXCLUDES(mutex_);

 private:
  void start() MUSTER_REQUIRES(mutex_);
  void run() MUSTER_EXCLUDES(mutex_);
  /// The number of an error; 0 for success.
  [[nodiscard]] int put(const std::string& lines) const;
  void tell_broken() MUSTER_REQUIRES(mutex_);
  [[nodiscard]] bool idle() const MUSTER_REQUIRES(mutex_) {
    return queue_.empty() && !writing_ && dropped_ == 0;
  }

  const int fd_;
  const std::size_t bytes_max_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> queue_ MUSTER_GUARDED_BY(mutex_);  ///< At most bytes_max_, or one entry.
  std::size_t bytes_ MUSTER_GUARDED_BY(mutex_) = 0;          ///< In the queue.
  std::size_t dropped_ MUSTER_GUARDED_BY(mutex_) = 0;        ///< And not yet told.
  bool writing_ MUSTER_GUARDED_BY(mutex_) = false;
  bool ending_ MUSTER_GUARDED_BY(mutex_) = false;
  int error_ MUSTER_GUARDED_BY(mutex_) = 0;  ///< What broke it.
  std::function<void()> told_ MUSTER_GUARDED_BY(mutex_);
  std::thread thread_;  ///< Since the first line; started under the mutex.
};

}  // namespace muster
