#include "store/remote/completions.h"

#include "store/remote/loop_queue.h"

// After the loop's header, whose mutex gRPC's headers define the annotations of once more.
#include <grpcpp/completion_queue.h>

#include <cstddef>
#include <thread>
#include <utility>

namespace muster::remote {
namespace {

class OnOwnThread final : public Completions {
 public:
  explicit OnOwnThread(Loop& loop) : loop_(loop), thread_([this] { run(); }) {}
  ~OnOwnThread() override {
    queue_.Shutdown();
    thread_.join();
  }

  grpc::CompletionQueue* queue() override { return &queue_; }
  void* tag(std::function<void(bool)> done) override {
    return new std::function<void(bool)>(std::move(done));
  }

 private:
  void run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      loop_.post([done = std::shared_ptr<std::function<void(bool)>>(
                      static_cast<std::function<void(bool)>*>(tag)),
                  ok] { (*done)(ok); });
    }
  }

  Loop& loop_;
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

class OnLoopQueue final : public Completions {
 public:
  OnLoopQueue(Loop& loop, LoopQueue& queue) : loop_(loop), queue_(queue) {}
  ~OnLoopQueue() override {
    queue_.work_until([this] { return under_way_ == 0; });
  }

  grpc::CompletionQueue* queue() override { return queue_.queue(); }
  void* tag(std::function<void(bool)> done) override {
    ++under_way_;
    return static_cast<Completion*>(new Operation(*this, std::move(done)));
  }

 private:
  /// Posted and not called: another's end may be working the queue just now.
  struct Operation final : Completion {
    Operation(OnLoopQueue& o, std::function<void(bool)> d) : owner(o), done(std::move(d)) {}
    void complete(bool ok) override {
      const std::unique_ptr<Operation> self(this);
      --owner.under_way_;
      owner.loop_.post([done = std::move(done), ok] { done(ok); });
    }
    OnLoopQueue& owner;
    std::function<void(bool)> done;
  };

  Loop& loop_;
  LoopQueue& queue_;
  std::size_t under_way_ = 0;
};

}  // namespace

std::unique_ptr<Completions> Completions::make(Loop& loop, LoopQueue* queue) {
  if (queue == nullptr) return std::make_unique<OnOwnThread>(loop);
  return std::make_unique<OnLoopQueue>(loop, *queue);
}

}  // namespace muster::remote
