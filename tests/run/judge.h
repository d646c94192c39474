#pragma once

#include <memory>
#include <string>

#include "base/random.h"

namespace muster {

/// The store that judges one schedule, and what can go wrong with it while it does.
class Judge {
 public:
  virtual ~Judge() = default;
  [[nodiscard]] virtual std::string url() const = 0;
  /// An outage, slow or lost replies, for at most two seconds or a few requests. Returns when it
  /// has begun or is over. One thread.
  virtual void disturb(Random& random) = 0;
};

/// An empty place in the store of that kind (tests/coordinator/stores.h). Any thread, once
/// prepare_judges() has been called.
[[nodiscard]] std::unique_ptr<Judge> make_judge(const std::string& kind);

/// Starts the server of that kind, on the main thread, which it dies with.
void prepare_judges(const std::string& kind);

}  // namespace muster
