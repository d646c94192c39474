#pragma once

#include <functional>
#include <memory>

#include "base/loop.h"

namespace grpc {
class CompletionQueue;
}  // namespace grpc

namespace muster::remote {

class LoopQueue;

/// Moves the completions of gRPC to a loop: what gRPC finishes on this queue is posted there.
///
/// Destroying it waits until gRPC has let go of every operation, so cancel them first; their
/// completions are still posted, and whoever made them must take no notice. Loop thread only.
class Completions {
 public:
  virtual ~Completions() = default;

  [[nodiscard]] virtual grpc::CompletionQueue* queue() = 0;
  /// For one operation on the queue: `done` gets its outcome on the loop and keeps alive what the
  /// operation writes to.
  [[nodiscard]] virtual void* tag(std::function<void(bool)> done) = 0;

  /// On a queue that the loop itself works, which must outlive it; null: with a queue and a thread
  /// of its own.
  [[nodiscard]] static std::unique_ptr<Completions> make(Loop& loop, LoopQueue* queue);
};

}  // namespace muster::remote
