#include "api/threads.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/log.h"
#include "platform/doorbell.h"

namespace muster::api {
namespace {

class Undertaker {
 public:
  static Undertaker& instance() {
    static Undertaker& undertaker = *new Undertaker();
    return undertaker;
  }
  void take(std::function<void()> end) {
    {
      const std::lock_guard lock(mutex_);
      ends_.push_back(std::move(end));
    }
    some_.notify_one();
  }

 private:
  Undertaker() {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  }
  [[noreturn]] void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      some_.wait(lock, [this] { return !ends_.empty(); });
      const std::function<void()> end = std::move(ends_.front());
      ends_.pop_front();
      lock.unlock();
      end();
    }
  }

  std::mutex mutex_;
  std::condition_variable some_;
  std::deque<std::function<void()>> ends_;
  std::thread thread_;
};

}  // namespace

void end_elsewhere(std::function<void()> end) {
  Undertaker::instance().take(std::move(end));
}

void CallbackThread::post(std::function<void()> task) {
  thread_.loop().post([task = std::move(task)] {
    try {
      task();
    } catch (const std::exception& thrown) {
      log_error("a callback of the program has thrown", {{"what", thrown.what()}});
    } catch (...) {
      log_error("a callback of the program has thrown");
    }
  });
}

}  // namespace muster::api
