#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "log/replicated_log.h"
#include "platform/event_loop.h"
#include "store/open/open.h"

namespace CLI {
class App;
}

namespace muster::cli {

/// A store of musterd's log, opened for one command that waits. One thread.
class OpenEngine {
 public:
  OpenEngine() = default;
  ~OpenEngine();

  [[nodiscard]] Status open(const std::string& url, const StoreOptions& options);
  [[nodiscard]] EventLoop& loop() { return thread_.loop(); }
  [[nodiscard]] ObjectStore& store() { return *store_; }
  [[nodiscard]] rlog::Place place(Duration request_timeout);

  /// Calls `start` on the loop with a callback, and waits for what that is called with.
  template <typename T>
  [[nodiscard]] Result<T> await(const std::function<void(Callback<T>)>& start) {
    std::promise<Result<T>> answered;
    thread_.loop().post(
        [&] { start([&](Result<T> result) { answered.set_value(std::move(result)); }); });
    return answered.get_future().get();
  }
  /// Runs on the loop: what belongs to it is made and destroyed there.
  void run(const std::function<void()>& task) { thread_.run(task); }

 private:
  LoopThread thread_;
  std::unique_ptr<ObjectStore> store_;
};

/// Which engine's log to work on, without a server: the options that all such commands share.
struct EngineOptions {
  std::string url;
  TlsFiles tls;
  Duration timeout = 3s;

  /// --engine, the TLS files and --timeout.
  void declare(CLI::App& app);
  [[nodiscard]] Result<std::unique_ptr<OpenEngine>> open(ExistingStore existing) const;
};

}  // namespace muster::cli
