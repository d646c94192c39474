#include "server/rpc/completion_queue.h"

#include <grpc/support/time.h>

#include <cstddef>

#include "server/rpc/completion_inbox.h"

namespace muster::rpc {
namespace {

/// What is handed over at once; bounds how long the loop is kept from its timers.
constexpr std::size_t kBatchMax = 256;

}  // namespace

CompletionPoller::CompletionPoller(grpc::CompletionQueue& queue, Loop& loop)
    : queue_(queue), inbox_(CompletionInbox::make(loop)), thread_([this] { run(); }) {}

void CompletionPoller::drain() {
  if (!thread_.joinable()) return;
  queue_.Shutdown();
  thread_.join();
  inbox_->deliver();
}

void CompletionPoller::run() {
  const gpr_timespec at_once = gpr_inf_past(GPR_CLOCK_MONOTONIC);
  void* tag = nullptr;
  bool ok = false;
  CompletionInbox::Batch batch;
  while (queue_.Next(&tag, &ok)) {
    batch.clear();
    do {
      batch.emplace_back(static_cast<Completion*>(tag), ok);
    } while (batch.size() < kBatchMax &&
             queue_.AsyncNext(&tag, &ok, at_once) == grpc::CompletionQueue::GOT_EVENT);
    inbox_->add(batch);
  }
}

}  // namespace muster::rpc
