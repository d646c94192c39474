#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "platform/event_loop.h"
#include "server/rpc/completion.h"

namespace grpc {
class Alarm;
class CompletionQueue;
}  // namespace grpc

namespace muster::remote {

/// gRPC's completion queue, worked by the thread of a loop whenever that has nothing else to do.
/// gRPC does its I/O on the thread that waits for it, so that neither a request nor its answer
/// crosses threads. Any other thread that waits for gRPC in the same process takes a part of that
/// I/O away from this one and hands the results over: let there be none.
///
/// Tags are pointers to Completion, called on the loop one after another. Loop thread only, save
/// what LoopWaiter says.
class LoopQueue final : public LoopWaiter {
 public:
  /// The loop waits here from now on; it must outlive this.
  LoopQueue(EventLoop& loop, std::unique_ptr<grpc::CompletionQueue> queue);
  /// Waits until gRPC has let go of every operation, so their owners cancel them first.
  ~LoopQueue() override;
  LoopQueue(const LoopQueue&) = delete;
  LoopQueue& operator=(const LoopQueue&) = delete;

  [[nodiscard]] grpc::CompletionQueue* queue() { return queue_.get(); }
  /// Works gRPC, and nothing else of the loop, until `done` holds: for an end that is waited for.
  void work_until(const std::function<bool()>& done);

  /// Once: before the loop sleeps the next time, or soon where it has no time to. `task` begins
  /// nothing on this queue.
  void before_sleep(std::function<void()> task) { before_sleep_.push_back(std::move(task)); }

  void wait(MonoTime by) override;
  void deliver() override;
  void wake() override;

 private:
  struct Found {
    void* tag = nullptr;
    bool ok = false;
    bool any = false;
  };

  /// Looks for one, and no longer than until `by`.
  void find(MonoTime by);

  EventLoop& loop_;
  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::unique_ptr<grpc::Alarm> alarm_;
  std::atomic<bool> alarmed_{false};  ///< The alarm is set and has not been heard.
  Found found_;
  std::vector<std::function<void()>> before_sleep_;
  int turns_awake_ = 0;  ///< Since those wait.
  Lifetime lifetime_;
  bool hurried_ = false;  ///< The loop has other work: all that is here already is taken at once.
  int busy_turns_ = 0;    ///< How often in a row that was so.
};

}  // namespace muster::remote
