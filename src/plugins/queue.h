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

/// A queue in the store. Producers write messages; the leader publishes tickets for those that may
/// run, stamped with its epoch; workers check the stamp, claim by compare-and-swap, run, and
/// acknowledge. What fails is tried again after a pause, and laid with the dead letters after
/// `attempts_max` attempts. An attempt is a handler that ran, or a claimant that died or could not
/// reach the store for the rest of its visibility timeout; a store that fails spends none.
///
/// Guaranteed: an enqueued message is run until it is acknowledged or dead, whichever process
/// dies meanwhile; and of two workers at most one holds a valid guard for it at any moment, on
/// their own boot clocks, without any wall clock. Not guaranteed: that it runs only once. A worker
/// that dies, or outlives its guard, between the work and the acknowledgement has run what another
/// will run again; a handler asks its guard before every effect, and fences what must not be
/// written twice. Order is about that of the enqueues.
///
/// enqueue, claim and what follows a claim: any thread; the rest as CoordinatorPlugin says.
class Queue final : public CoordinatorPlugin {
 public:
  /// `worker` is for people: it names the claimant in claims.
  Queue(SyncStore& store, WorkerId worker, QueueOptions options = {})
      : Queue(store, store.clock(), system_random(), std::move(worker), std::move(options)) {}
  /// Told the time, and what is left to chance.
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
  /// An id that sorts about by time, for a caller that wants to know it before it enqueues.
  [[nodiscard]] std::string new_id();

  /// The next message that may run; empty when there is none now.
  [[nodiscard]] Result<std::optional<QueueClaim>> claim() { return claimer_.claim(); }
  /// Another visibility timeout from now. On failure the guard keeps its deadline, or is closed
  /// when the claim is lost.
  [[nodiscard]] Status extend(QueueClaim& claim) { return claimer_.extend(claim); }
  /// The message is done. kConflict: the claim was lost, and another runs it again.
  [[nodiscard]] Status acknowledge(QueueClaim& claim) { return claimer_.acknowledge(claim); }
  /// To be tried again, or dead.
  [[nodiscard]] Status fail(QueueClaim& claim, const std::string& reason) {
    return claimer_.fail(claim, reason);
  }

  using Handler = std::function<Status(QueueClaim& claim)>;
  /// Claims one message, runs it, and acknowledges it, or fails it when the handler did or threw.
  /// False when there was none.
  [[nodiscard]] Result<bool> run_one(const Handler& handler);

  [[nodiscard]] Result<std::vector<queue::DeadLetter>> dead_letters();
  /// Removes a letter that dead_letters() told of. Gone already: success.
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
