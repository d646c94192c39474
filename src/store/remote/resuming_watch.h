#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "store/remote/identity.h"
#include "store/store.h"

namespace muster::remote {

/// One watch, over as many streams as it takes.
///
/// Before each stream it asks the store for its revision by a linearizable read: that finds a
/// server that works, renews credentials, notices a store that went back in time (a watch from a
/// revision of the future would stay silent) and, where there is nothing to resume from, says
/// where "now" is. A gap that cannot be closed is told as kReset.
///
/// How a stream is made and read is said by a derived class. Nothing comes after close().
/// Loop thread only.
class ResumingWatch : public std::enable_shared_from_this<ResumingWatch> {
 public:
  /// Asks for the history and revision of the store; an error when it is found to have gone back,
  /// also behind `after`. With `hold`, calls that begin meanwhile wait for the answer.
  using Mark = Identity::Mark;
  using FindRevision = std::function<void(Mark after, bool hold, Callback<Mark> done)>;

  struct Setup {
    std::string store;  ///< For people: "etcd".
    std::string prefix;
    Mark after;         ///< Deliver what changed after this revision; 0 for "now".
    bool lost = false;  ///< The caller's cursor is unusable: begin with kReset.
    std::function<void(const WatchEvent&)> on_event;

    /// Resume after `cursor`; empty for "now".
    void resume(const std::string& cursor);
  };

  ResumingWatch(Loop& loop, FindRevision find_revision, Setup setup);
  virtual ~ResumingWatch() = default;
  ResumingWatch(const ResumingWatch&) = delete;
  ResumingWatch& operator=(const ResumingWatch&) = delete;

  void open();
  void close();

 protected:
  /// Makes a stream of what changes after `after()`.
  virtual void start_stream() = 0;
  /// Ends the stream, if there is one; nothing of it is heard afterwards.
  virtual void drop_stream() = 0;

  /// The stream must be in force, said by in_force(), within this time.
  void limit_opening(std::function<void()> expired);
  void in_force();
  /// Tells the caller, who may close the watch by it. The event's numbers carry no stamp yet.
  void deliver(WatchEvent event);
  /// Everything up to `revision` was delivered.
  void advance(std::int64_t revision);
  void reset_at(std::int64_t revision);
  /// Drops the stream and makes another one soon; with `lost` the next one begins with kReset.
  void reopen(const std::string& reason, bool lost = false);

  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] std::int64_t after() const { return setup_.after.floor; }
  [[nodiscard]] const std::string& prefix() const { return setup_.prefix; }

 private:
  void on_mark(Result<Mark> mark);

  FindRevision find_revision_;
  Setup setup_;
  bool closed_ = false;
  Timer timer_;  ///< Bounds the opening of a stream, or waits before the next one.
  Duration backoff_{0};
  std::string reported_;  ///< Why the watch does not run, when that was logged already.
};

/// What a caller holds of a ResumingWatch.
class WatchHandle final : public Watch {
 public:
  explicit WatchHandle(std::shared_ptr<ResumingWatch> watch) : watch_(std::move(watch)) {}
  ~WatchHandle() override { watch_->close(); }

 private:
  std::shared_ptr<ResumingWatch> watch_;
};

}  // namespace muster::remote
