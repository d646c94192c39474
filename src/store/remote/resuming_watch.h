#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "store/remote/lineage.h"
#include "store/store.h"

namespace muster::remote {

/// One watch, over as many streams as necessary.
///
/// Before each stream it reads the store's revision linearizably. That finds a working server,
/// renews credentials, and detects a store that went back in time (a watch from a future revision
/// would stay silent). Without a position to resume from, it also defines "now". A gap that cannot
/// be closed is reported as kReset.
///
/// Derived classes open and read the streams. No event comes after close(). Threads: loop thread
/// only.
class ResumingWatch : public std::enable_shared_from_this<ResumingWatch> {
 public:
  /// Reads the history and revision of the store; an error if it has gone back, also behind
  /// `after`. With `hold`, calls that begin meanwhile wait for the answer.
  using Mark = Lineage::Mark;
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
  /// Opens a stream of the changes after `after()`.
  virtual void start_stream() = 0;
  /// Ends the stream, if there is one; none of its events is delivered afterwards.
  virtual void drop_stream() = 0;

  /// The stream must be established, reported by in_force(), within this time.
  void limit_opening(std::function<void()> expired);
  void in_force();
  /// Delivers to the caller, which may close the watch. The event's numbers carry no stamp yet.
  void deliver(WatchEvent event);
  /// Everything up to `revision` was delivered.
  void advance(std::int64_t revision);
  void reset_at(std::int64_t revision);
  /// Drops the stream and opens another one soon; with `lost` the next one begins with kReset.
  void reopen(const std::string& reason, bool lost = false);

  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] std::int64_t after() const { return setup_.after.floor; }
  [[nodiscard]] const std::string& prefix() const { return setup_.prefix; }

 private:
  void on_mark(Result<Mark> mark);

  FindRevision find_revision_;
  Setup setup_;
  bool closed_ = false;
  Timer timer_;  ///< Limits the opening of a stream, or delays the next one.
  Duration backoff_{0};
  std::string reported_;  ///< Why the watch does not run, if that was already logged.
};

/// The caller's handle of a ResumingWatch.
class WatchHandle final : public Watch {
 public:
  explicit WatchHandle(std::shared_ptr<ResumingWatch> watch) : watch_(std::move(watch)) {}
  ~WatchHandle() override { watch_->close(); }

 private:
  std::shared_ptr<ResumingWatch> watch_;
};

}  // namespace muster::remote
