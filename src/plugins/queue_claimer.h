#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "coordinator/plugin.h"
#include "elector/lease_guard.h"
#include "elector/nonces.h"
#include "elector/sync_store.h"
#include "plugins/queue_options.h"
#include "plugins/queue_records.h"

namespace muster {

/// Whether this message may still be run. Ends before another worker may claim it.
using ClaimGuard = LeaseGuard;

namespace queue {
class Claimer;
}

/// A message claimed by one worker. Threads: one at a time; the guard any.
class QueueClaim {
 public:
  [[nodiscard]] const std::string& id() const { return message_.id; }
  [[nodiscard]] const std::string& payload() const { return message_.payload; }
  /// 1 for the first attempt.
  [[nodiscard]] unsigned attempt() const { return record_.attempt; }
  [[nodiscard]] const ClaimGuard& guard() const { return *guard_; }

 private:
  friend class queue::Claimer;
  queue::Message message_;
  queue::ClaimRecord record_;
  Revision revision_;
  std::shared_ptr<ClaimGuard> guard_;
};

namespace queue {

/// The worker's part of a queue: takes tickets and keeps claims. A claim under which nothing was
/// run, because the store failed, is given back and uses up no attempt. Threads: any.
class Claimer {
 public:
  /// `fence` judges the epochs of tickets.
  Claimer(SyncStore& store, const Clock& clock, Nonces& nonces, const QueueOptions& options,
          const Keys& keys, WorkerId worker, CoordinatorPlugin& fence);

  [[nodiscard]] Result<std::optional<QueueClaim>> claim();
  [[nodiscard]] Status extend(QueueClaim& claim);
  [[nodiscard]] Status acknowledge(QueueClaim& claim);
  [[nodiscard]] Status fail(QueueClaim& claim, const std::string& reason);

 private:
  /// The tickets as last read; each is tried by one thread.
  struct Seen {
    std::optional<Revision> revision;
    Board board;
    std::set<std::string> tried;
  };

  /// A claim that stands in the store, or may land there yet, and under which nothing was run.
  struct Unrun {
    Ticket ticket;
    ClaimRecord record;
    MonoTime sent;
    std::string reason;
  };

  [[nodiscard]] Status refresh() MUSTER_EXCLUDES(mutex_);
  /// A ticket that nobody here has tried, with its epoch.
  [[nodiscard]] std::optional<std::pair<Ticket, Epoch>> next_ticket() MUSTER_EXCLUDES(mutex_);
  void put_back(const Ticket& ticket) MUSTER_EXCLUDES(mutex_);
  /// Empty if another worker was faster.
  [[nodiscard]] Result<std::optional<QueueClaim>> take(const Ticket& ticket, Epoch epoch)
      MUSTER_EXCLUDES(mutex_);
  /// Gives back what was not run, as far as the store answers; the rest at the next call.
  void give_back_unrun() MUSTER_EXCLUDES(mutex_);
  /// False while it may land yet.
  [[nodiscard]] Result<bool> give_back(const Unrun& unrun);
  /// Replaces this claim's object, whatever became of an earlier write of its own.
  [[nodiscard]] Status write(QueueClaim& claim, const ClaimRecord& record);
  [[nodiscard]] Status finish(QueueClaim& claim, ClaimState state, const std::string& reason);
  [[nodiscard]] LeaseTerms terms() const { return {options_.visibility_timeout, options_.drift}; }

  SyncStore& store_;
  const Clock& clock_;
  Nonces& nonces_;
  const QueueOptions& options_;
  const Keys& keys_;
  const WorkerId worker_;
  CoordinatorPlugin& fence_;
  Mutex mutex_;
  Seen seen_ MUSTER_GUARDED_BY(mutex_);
  std::vector<Unrun> unrun_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace queue
}  // namespace muster
