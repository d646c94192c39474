#include "server/rpc/completion_inbox.h"

#include "base/mutex.h"

namespace muster::rpc {
namespace {

class Inbox final : public CompletionInbox, public std::enable_shared_from_this<Inbox> {
 public:
  explicit Inbox(Loop& loop) : loop_(loop) {}

  void add(const Batch& batch) override EXCLUDES(mutex_) {
    bool wake = false;
    {
      MutexLock lock(mutex_);
      wake = waiting_.empty();
      waiting_.insert(waiting_.end(), batch.begin(), batch.end());
    }
    if (wake) loop_.post([self = shared_from_this()] { self->deliver(); });
  }

  void deliver() override EXCLUDES(mutex_) {
    Batch taken;
    {
      MutexLock lock(mutex_);
      taken.swap(waiting_);
    }
    for (const auto& [completion, ok] : taken) completion->complete(ok);
  }

 private:
  Loop& loop_;
  Mutex mutex_;
  Batch waiting_ GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<CompletionInbox> CompletionInbox::make(Loop& loop) {
  return std::make_shared<Inbox>(loop);
}

}  // namespace muster::rpc
