#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/plugin.h"
#include "core/election/lease.h"
#include "elector/lease_guard.h"
#include "elector/nonces.h"
#include "elector/sync_store.h"
#include "plugins/queue_options.h"
#include "plugins/queue_records.h"

namespace muster::queue {

/// The leader's part of a queue: watches claims expire, on its own boot clock, publishes tickets,
/// buries what was tried too often and sweeps what is finished. Keeps nothing that the store does
/// not hold: a successor goes on from there. The thread of the plugin's callbacks.
class Dispatcher {
 public:
  Dispatcher(SyncStore& store, const Clock& clock, Nonces& nonces, const QueueOptions& options,
             const Keys& keys, CoordinatorPlugin& plugin)
      : store_(store),
        clock_(clock),
        nonces_(nonces),
        options_(options),
        keys_(keys),
        plugin_(plugin) {}

  /// A new term: discards the observations of an earlier one.
  void begin();
  /// One round. After a failure the next round continues from the state of the store.
  [[nodiscard]] Status round(const LeaseGuard& guard);

 private:
  struct Known {
    Revision revision;
    ClaimRecord record;
    LeaseObserver rest;  ///< Until a claim has expired, a pause is over, a tombstone may go.
    bool message_gone = false;
  };

  [[nodiscard]] Status list_messages(const LeaseGuard& guard);
  [[nodiscard]] Status list_claims(const LeaseGuard& guard);
  [[nodiscard]] Status learn(const std::string& id);
  [[nodiscard]] Duration rest_of(const ClaimRecord& record) const;

  [[nodiscard]] Status settle(const LeaseGuard& guard);
  [[nodiscard]] Status settle_one(const LeaseGuard& guard, const std::string& id, Known& known);
  [[nodiscard]] Status end(const LeaseGuard& guard, const std::string& id, Known& known,
                           ClaimState state, const std::string& reason);
  [[nodiscard]] Status bury(const std::string& id, const Known& known);
  [[nodiscard]] Result<bool> write_letter(const Key& key, const DeadLetter& letter);
  [[nodiscard]] Status clear(const std::string& id, Known& known);
  [[nodiscard]] Status sweep(const std::string& id, const Known& known);

  [[nodiscard]] std::vector<Ticket> due() const;
  [[nodiscard]] Status read_board();
  [[nodiscard]] Status publish(const LeaseGuard& guard, std::vector<Ticket> tickets);

  SyncStore& store_;
  const Clock& clock_;
  Nonces& nonces_;
  const QueueOptions& options_;
  const Keys& keys_;
  CoordinatorPlugin& plugin_;  ///< Of the queue: what is refused here is counted there.

  std::set<std::string> messages_;  ///< As last listed, less those removed since.
  bool all_listed_ = false;         ///< Whether there are no more of them.
  std::map<std::string, Known> claims_;
  std::size_t changes_ = 0;     ///< This round.
  std::optional<Board> board_;  ///< As it stands, when known.
  Precondition board_unchanged_;
};

}  // namespace muster::queue
