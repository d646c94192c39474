#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/time.h"
#include "core/election/lease.h"

namespace muster {

struct QueueOptions {
  std::string name_space = "default";
  std::string queue = "default";
  Duration dispatch_interval = 1s;
  /// Limits of one round of the leader: messages read, from the oldest on; tickets issued at a
  /// time; and objects changed.
  std::size_t window_max = 1000;
  std::size_t tickets_max = 100;
  std::size_t changes_max = 500;
  /// How long a claim lasts without an extension; in whole milliseconds.
  Duration visibility_timeout = 30s;
  double drift = kDefaultDrift;
  unsigned attempts_max = 3;
  Duration backoff = 1s;  ///< Before the second attempt; doubled for each further one.
  Duration backoff_max = 1min;
  /// How long the tombstone of a finished message stays. No write may arrive later than this after
  /// it was sent, or a message enqueued twice by the network may run twice.
  Duration tombstone_retention = 1min;

  [[nodiscard]] Duration backoff_after(unsigned attempt) const {
    Duration wait = backoff;
    for (unsigned i = 1; i < attempt && wait < backoff_max; ++i) wait *= 2;
    return std::min(wait, backoff_max);
  }
};

}  // namespace muster
