#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "api/connection.h"
#include "elector/lease_guard.h"

namespace muster::api {

/// One term of one candidate, and how many hold it. Any thread.
class TermRecord {
 public:
  TermRecord(std::shared_ptr<const LeaseGuard> guard, Loop& loop)
      : guard_(std::move(guard)), loop_(loop) {}

  [[nodiscard]] const LeaseGuard& guard() const { return *guard_; }
  [[nodiscard]] bool valid() const { return !given_up_.load() && guard_->valid(); }
  [[nodiscard]] Duration left() const;
  [[nodiscard]] std::stop_source& stopping() { return stopping_; }
  void give_up() { given_up_.store(true); }

  /// False once the term is being ended: nobody may hold it any more.
  [[nodiscard]] bool hold();
  void let_go();
  /// Calls `done` on the loop once nobody holds it.
  void end(std::function<void()> done);

 private:
  const std::shared_ptr<const LeaseGuard> guard_;
  Loop& loop_;
  std::stop_source stopping_;
  std::atomic<bool> given_up_{false};
  std::mutex mutex_;
  int holders_ = 0;
  bool ending_ = false;
  std::function<void()> done_;
};

/// What the copies of a pub::Term share: they hold the term, and the loop that its clock is.
class TermHold {
 public:
  /// `record` has been held for it.
  TermHold(std::shared_ptr<Connection> connection, std::shared_ptr<TermRecord> record)
      : connection_(std::move(connection)), record_(std::move(record)) {}
  ~TermHold() { record_->let_go(); }
  TermHold(const TermHold&) = delete;
  TermHold& operator=(const TermHold&) = delete;

  [[nodiscard]] TermRecord& record() const { return *record_; }

 private:
  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<TermRecord> record_;
};

}  // namespace muster::api
