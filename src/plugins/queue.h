#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/plugin.h"
#include "core/election/lease.h"
#include "elector/nonces.h"
#include "elector/sync_store.h"
#include "platform/system_clock.h"
#include "plugins/queue_claimer.h"
#include "plugins/queue_dispatcher.h"
#include "plugins/queue_options.h"
#include "plugins/queue_records.h"

namespace muster {

/// A queue in the store. Producers write messages. The leader publishes tickets for those that may
/// run, stamped with its epoch. Workers check the stamp, claim by compare-and-swap, run, and
/// acknowledge. A failed message is retried after a pause, and becomes a dead letter after
/// `attempts_max` attempts. An attempt is a handler that ran, or a claimant that died or could not
/// reach the store for the rest of its visibility timeout; a failing store uses up none.
///
/// Guarantees: an enqueued message is run until it is acknowledged or dead, whichever process dies;
/// and at most one worker holds a valid guard for it at any moment, by the workers' boot clocks,
/// without any wall clock. Not guaranteed: that it runs only once. If a worker dies, or outlives
/// its guard, between the work and the acknowledgement, another worker runs the message again. So a
/// handler must check its guard before every effect, and fence writes that must not happen twice.
/// Order is approximately that of the enqueues.
///
/// Threads: any for enqueue, claim and functions on a claim; otherwise as for CoordinatorPlugin.
class Queue final : public CoordinatorPlugin {
 public:
  /// `worker` is for people: it names the claimant in claims.
  Queue(SyncStore& store, WorkerId worker, QueueOptions options = {})
      : Queue(store, store.clock(), system_random(), std::move(worker), std::move(options)) {}
  /// With an explicit clock and source of randomness.
  Queue(SyncStore& store, const Clock& clock, Random random, WorkerId worker,
        QueueOptions options = {});

  [[nodiscard]] std::string name() const override { return "queue"; }
  void on_become_coordinator(const LeaseGuard& guard) override;
  void coordinator_work(const LeaseGuard& guard) override;
  [[nodiscard]] Duration work_interval() const override { return options_.dispatch_interval; }

  /// The message's id. The payload is UTF-8. After kAmbiguous, or any doubt, call again with the
  /// same `id`: one message comes of it, also when it has been run meanwhile. So an id is for one
  /// message: another one under it counts as the first until `tombstone_retention` after its end.
  [[nodiscard]] Result<std::string> enqueue(std::string payload, std::string id = {});
  /// A new id that sorts roughly by time, for a caller that needs it before enqueue().
  [[nodiscard]] std::string new_id();

  /// The next message that may run; empty if there is none now.
  [[nodiscard]] Result<std::optional<QueueClaim>> claim() { return claimer_.claim(); }
  /// Extends the claim by another visibility timeout from now. On failure the guard keeps its
  /// deadline, or is closed if the claim is lost.
  [[nodiscard]] Status extend(QueueClaim& claim) { return claimer_.extend(claim); }
  /// The message is done. kConflict: the claim was lost, and another worker runs it again.
  [[nodiscard]] Status acknowledge(QueueClaim& claim) { return claimer_.acknowledge(claim); }
  /// The message is to be retried, or is dead.
  [[nodiscard]] Status fail(QueueClaim& claim, const std::string& reason) {
    return claimer_.fail(claim, reason);
  }

  using Handler = std::function<Status(QueueClaim& claim)>;
  /// Claims one message, runs it, and acknowledges it, or fails it if the handler failed or threw.
  /// False if there was none.
  [[nodiscard]] Result<bool> run_one(const Handler& handler);

  [[nodiscard]] Result<std::vector<queue::DeadLetter>> dead_letters();
  /// Removes a letter from dead_letters(). Success if it is already gone.
  [[nodiscard]] Status discard(const queue::DeadLetter& letter);

 private:
  SyncStore& store_;
  const Clock& clock_;
  Nonces nonces_;
  const QueueOptions options_;
  const queue::Keys keys_;
  queue::Dispatcher dispatcher_;
  queue::Claimer claimer_;
};

}  // namespace muster
