#pragma once

#include <grpcpp/completion_queue.h>

#include <memory>
#include <thread>

#include "base/loop.h"
#include "server/rpc/completion_inbox.h"

// Only the files of this folder that end in .cc include this: it brings gRPC's headers.
namespace muster::rpc {

/// The one thread that waits for gRPC. Tags on the queue are pointers to Completion.
class CompletionPoller {
 public:
  CompletionPoller(grpc::CompletionQueue& queue, Loop& loop);
  ~CompletionPoller() { drain(); }
  CompletionPoller(const CompletionPoller&) = delete;
  CompletionPoller& operator=(const CompletionPoller&) = delete;

  /// Shuts the queue down and waits until gRPC has let go of every operation; completions not yet
  /// handed over are called here, with their outcome. Start none afterwards.
  void drain();

 private:
  void run();

  grpc::CompletionQueue& queue_;
  std::shared_ptr<CompletionInbox> inbox_;
  std::thread thread_;
};

}  // namespace muster::rpc
