#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/loop.h"
#include "store/postgres/statements.h"
#include "store/store.h"

namespace muster::postgres {

/// One watch. It keeps the revision of every key below its prefix, and compares: a notification
/// makes it look at one key, and from time to time it looks at all of them. So notifications are
/// hints only; where a pooler swallows them, changes are just seen later.
///
/// A change that may have been missed is reported as kReset. No event comes after close(). Threads:
/// loop thread only.
class ChangeWatch : public std::enable_shared_from_this<ChangeWatch> {
 public:
  using Known = std::map<Key, Revision>;
  struct Deps {
    /// Sends a read; the answer is of the store's current history.
    std::function<void(Statement, Callback<Rows>)> ask;
    std::function<std::uint64_t()> history;
    /// A revision or cursor as callers see it.
    std::function<std::string(std::string)> stamped;
    /// Whether notifications arrive.
    std::function<bool()> hears;
  };

  /// `known` is what the caller knows; nothing: it knows nothing yet, and with `lost` it must be
  /// told to list.
  /// `name` begins the cursors of its events.
  ChangeWatch(Loop& loop, const Statements& statements, Deps deps, std::string name,
              std::string prefix, std::optional<Known> known, bool lost,
              std::function<void(const WatchEvent&)> on_event);

  /// Looks at every key.
  void look();
  /// Looks at `key`, which may have changed.
  void hint(const Key& key);
  void close();

  /// What the caller knows after the last event, whose cursor is cursor(), without a stamp.
  [[nodiscard]] const std::optional<Known>& known() const { return known_; }
  [[nodiscard]] std::string cursor() const { return name_ + std::to_string(events_); }
  [[nodiscard]] const std::string& prefix() const { return prefix_; }

 private:
  void run();
  void look_at_all();
  void look_at_some();
  void compare(const ListPage& all);
  void report(const std::set<Key>& asked, const std::vector<Statements::Fetched>& objects);
  void deliver(WatchEvent::Kind kind, const Key& key, Object object);
  void failed(const Error& error);

  const Statements& statements_;
  Deps deps_;
  std::string name_;
  std::string prefix_;
  std::function<void(const WatchEvent&)> on_event_;
  std::optional<Known> known_;
  bool lost_;
  std::uint64_t history_;
  std::uint64_t events_ = 0;
  bool all_ = true;  ///< A look at every key is due.
  std::set<Key> hinted_;
  bool busy_ = false;
  bool closed_ = false;
  Duration backoff_{0};
  Timer timer_;  ///< The next look at all, or the next attempt.
};

/// The caller's handle.
class ChangeWatchHandle final : public Watch {
 public:
  ChangeWatchHandle(std::shared_ptr<ChangeWatch> watch, std::function<void()> ended)
      : watch_(std::move(watch)), ended_(std::move(ended)) {}
  ~ChangeWatchHandle() override {
    watch_->close();
    ended_();
  }

 private:
  std::shared_ptr<ChangeWatch> watch_;
  std::function<void()> ended_;
};

}  // namespace muster::postgres
