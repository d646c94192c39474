#include "store/remote/completion_thread.h"

#include <memory>
#include <utility>

namespace muster::remote {

CompletionThread::CompletionThread(Loop& loop) : loop_(loop), thread_([this] { run(); }) {}

CompletionThread::~CompletionThread() {
  queue_.Shutdown();
  thread_.join();
}

void* CompletionThread::tag(std::function<void(bool)> done) {
  return new std::function<void(bool)>(std::move(done));
}

void CompletionThread::run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    loop_.post([done = std::shared_ptr<std::function<void(bool)>>(
                    static_cast<std::function<void(bool)>*>(tag)),
                ok] { (*done)(ok); });
  }
}

}  // namespace muster::remote
