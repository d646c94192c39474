#pragma once

#include <string>

#include "base/mutex.h"
#include "base/random.h"

namespace muster {

/// Generates unique names for bodies, ids and claims. Threads: any.
class Nonces {
 public:
  explicit Nonces(Random random) : random_(random) {}

  [[nodiscard]] std::string next() MUSTER_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return random_.uuid();
  }
  /// Uniform in [0, bound); `bound` must not be 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) MUSTER_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return random_.below(bound);
  }

 private:
  Mutex mutex_;
  Random random_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
