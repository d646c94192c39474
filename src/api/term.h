#pragma once

#include <muster/leader.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/connection.h"
#include "elector/lease_guard.h"

namespace muster::api {

/// The common data of all terms of a candidate.
struct TermRules {
  std::string name;  ///< Of the election.
  std::string node;
  Duration stop_budget{};
  Duration kill_margin{};
  bool exits_on_overrun = false;
};

/// A participant that runs during a term and must be ended with it. Loop thread only.
class TermGuest {
 public:
  virtual ~TermGuest() = default;
  virtual void stop(MonoTime by) = 0;
  /// As the guard says; a guard that was closed means that no time is left.
  virtual void deadline_moved() = 0;
};

/// One term of one candidate, and how many hold it. Any thread, unless a function says something
/// else.
class TermRecord {
 public:
  TermRecord(std::shared_ptr<const LeaseGuard> guard, Loop& loop,
             std::shared_ptr<const TermRules> rules)
      : guard_(std::move(guard)), loop_(loop), rules_(std::move(rules)) {}

  [[nodiscard]] const LeaseGuard& guard() const { return *guard_; }
  [[nodiscard]] const std::shared_ptr<const LeaseGuard>& shared_guard() const { return guard_; }
  [[nodiscard]] const TermRules& rules() const { return *rules_; }
  [[nodiscard]] bool valid() const { return !given_up_.load() && guard_->valid(); }
  [[nodiscard]] Duration left() const;
  [[nodiscard]] std::stop_source& stopping() { return stopping_; }
  void give_up() { given_up_.store(true); }

  /// False once the term is being ended: it accepts no new holder.
  [[nodiscard]] bool hold();
  void let_go();
  /// Calls `done` on the loop when there is no holder left.
  void end(std::function<void()> done);

  // Loop thread only.
  /// False once the term is being ended. A guest holds the term, and leaves before it ends.
  [[nodiscard]] bool enter(TermGuest& guest);
  void leave(TermGuest& guest);
  void stop_guests(MonoTime by);
  void deadline_moved();
  /// Nothing proves that all of a guest's work has ended: the lease must not be released.
  void doubt() { proven_ = false; }
  [[nodiscard]] bool proven() const { return proven_; }

 private:
  const std::shared_ptr<const LeaseGuard> guard_;
  Loop& loop_;
  const std::shared_ptr<const TermRules> rules_;
  std::vector<TermGuest*> guests_;
  bool stopped_ = false;
  bool proven_ = true;
  std::stop_source stopping_;
  std::atomic<bool> given_up_{false};
  std::mutex mutex_;
  int holders_ = 0;
  bool ending_ = false;
  std::function<void()> done_;
};

/// State shared by the copies of a pub::Term: they hold the term, and the loop with its clock.
class TermHold {
 public:
  /// Requires: `record` has been held for this.
  TermHold(std::shared_ptr<Connection> connection, std::shared_ptr<TermRecord> record)
      : connection_(std::move(connection)), record_(std::move(record)) {}
  ~TermHold() { record_->let_go(); }
  TermHold(const TermHold&) = delete;
  TermHold& operator=(const TermHold&) = delete;

  [[nodiscard]] TermRecord& record() const { return *record_; }
  [[nodiscard]] Connection& connection() const { return *connection_; }
  /// Null for a term that never was.
  [[nodiscard]] static TermHold* of(const pub::Term& term) { return term.hold_.get(); }

 private:
  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<TermRecord> record_;
};

}  // namespace muster::api
