#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster {

/// The order of the sessions that wait for one lock: first come, first served. Only the head may
/// compete for the lock, also when those behind it could be served sooner.
///
/// A session waits by asking again and again. It is present while it asks; in between its place is
/// kept for a while, so that neither an answer nor a broken connection costs it its place.
///
/// Pure: no I/O, no clock of its own, no locks; one thread.
class LockQueue {
 public:
  struct Options {
    Duration kept = 3s;  ///< The place of a session that does not ask.
    std::size_t most = 1000;
  };

  explicit LockQueue(Options options) : options_(options) {}

  /// The session asks: it gets the last place, or keeps the one that it has. False: the queue is
  /// full.
  [[nodiscard]] bool join(const std::string& session);
  /// The session does not ask any more. Its place is kept for a while.
  void absent(const std::string& session, MonoTime now);
  void leave(const std::string& session);
  /// Removes the sessions whose places have been kept for long enough, and returns them.
  [[nodiscard]] std::vector<std::string> expire(MonoTime now);
  /// When expire() is due.
  [[nodiscard]] MonoTime wake_at() const;

  /// Null if nobody waits. Valid until the next change.
  [[nodiscard]] const std::string* head() const;
  /// 1 for the head; 0 for a session that does not wait here.
  [[nodiscard]] std::size_t place(const std::string& session) const;
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  /// All of them, in order.
  [[nodiscard]] std::vector<std::string> sessions() const;

 private:
  struct Waiting {
    std::string session;
    MonoTime until;  ///< MonoTime::max() while the session is present.
  };
  [[nodiscard]] std::deque<Waiting>::iterator find(const std::string& session);

  Options options_;
  std::deque<Waiting> waiting_;
};

}  // namespace muster
