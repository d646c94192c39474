#pragma once

#include <string>

#include "elector/testing.h"
#include "plugins/queue.h"

namespace muster::testing {

/// One process with its queue and, when it leads, its term.
struct QueueMember {
  QueueMember(SharedWorld& shared, const std::string& worker, std::uint64_t epoch,
              QueueOptions options = {})
      : process(shared),
        plugin(process.store(), shared.clock, Random(std::hash<std::string>{}(worker) + epoch),
               WorkerId(worker), std::move(options)),
        guard(shared.clock, Epoch(epoch), shared.clock.now() + 24h) {
    plugin.attach(shared.clock, {.enabled = true, .grace = 0s});
    plugin.learn_epoch(Epoch(epoch));
    plugin.on_become_coordinator(guard);
  }
  /// One round of the leader.
  void lead() { plugin.coordinator_work(guard); }
  /// The claim there must be.
  [[nodiscard]] QueueClaim claim() { return plugin.claim()->value(); }
  [[nodiscard]] bool finds_none() {
    const auto claimed = plugin.claim();
    return claimed && !*claimed;
  }

  TestProcess process;
  Queue plugin;
  LeaseGuard guard;
};

}  // namespace muster::testing
