#pragma once

#include <grpcpp/completion_queue.h>

#include <functional>
#include <thread>

#include "base/loop.h"

namespace muster::remote {

/// Moves the completions of gRPC to a loop: what gRPC finishes on this thread runs there.
///
/// Destroying it waits until gRPC has let go of every operation, so cancel them first; their
/// completions are still posted, and whoever made them must take no notice. Loop thread only.
class CompletionThread {
 public:
  explicit CompletionThread(Loop& loop);
  ~CompletionThread();
  CompletionThread(const CompletionThread&) = delete;
  CompletionThread& operator=(const CompletionThread&) = delete;

  [[nodiscard]] grpc::CompletionQueue* queue() { return &queue_; }
  /// For one operation on the queue: `done` gets its outcome on the loop and keeps alive what the
  /// operation writes to.
  [[nodiscard]] static void* tag(std::function<void(bool)> done);

 private:
  void run();

  Loop& loop_;
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace muster::remote
