#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/loop.h"

namespace muster::rpc {

/// What an operation of gRPC calls on the loop when it is done. It must live until then.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void complete(bool ok) = 0;
};

/// Completions on their way from gRPC's thread to the loop. What has come together is handed over
/// together: one wake-up for many. Bounded by the operations under way, which are bounded by the
/// calls that gRPC admits.
class CompletionInbox {
 public:
  using Batch = std::vector<std::pair<Completion*, bool>>;

  virtual ~CompletionInbox() = default;
  /// Any thread.
  virtual void add(const Batch& batch) = 0;
  /// Calls everything that has come. Loop thread only.
  virtual void deliver() = 0;

  /// Abstract only because gRPC's headers define the names of base/mutex.h once more.
  [[nodiscard]] static std::shared_ptr<CompletionInbox> make(Loop& loop);
};

}  // namespace muster::rpc
