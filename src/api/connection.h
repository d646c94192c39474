#pragma once

#include <muster/arbiter.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "api/threads.h"
#include "base/random.h"
#include "base/result.h"
#include "elector/lock_memory.h"
#include "elector/sync_store.h"
#include "platform/event_loop.h"
#include "store/probe.h"
#include "store/store.h"

/// What stands behind include/muster. Public names are `pub::…` here, ours have no prefix.
namespace muster::api {

namespace pub = muster::api_v1;

[[nodiscard]] pub::Error to_public(const Error& error);
[[nodiscard]] pub::Status to_public(const Status& status);
template <typename T>
[[nodiscard]] pub::Result<T> to_public(Result<T> result) {
  if (!result) return to_public(result.error());
  return *std::move(result);
}

/// The error of a call that would wait for the callback in which it is made.
[[nodiscard]] pub::Error waits_for_callbacks(const char* call);

/// Until the program sets a log sink of its own: one that writes each error once.
void quiet_log();

/// An open store with its loop and a thread for the program's callbacks, shared by the handles of
/// one arbiter. Threads: any, unless a function says otherwise.
class Connection {
 public:
  [[nodiscard]] static pub::Result<pub::Arbiter> open(const std::string& url, const pub::Tls& tls);
  [[nodiscard]] static const std::shared_ptr<Connection>& of(const pub::Arbiter& arbiter) {
    return arbiter.connection_;
  }
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] LoopThread& thread() { return loop_; }
  [[nodiscard]] EventLoop& loop() { return loop_.loop(); }
  [[nodiscard]] ObjectStore& store() { return *store_; }
  [[nodiscard]] SyncStore& sync_store() { return *sync_store_; }
  [[nodiscard]] const std::string& address() const { return address_; }

  /// Runs `task` on the callback thread; what it throws is logged.
  void call_back(std::function<void()> task) { callbacks_.post(std::move(task)); }
  [[nodiscard]] Loop& callback_loop() { return callbacks_.loop(); }
  [[nodiscard]] bool in_callback() const { return callbacks_.here(); }
  /// Returns when every callback requested before has returned. Not for callbacks.
  void wait_for_callbacks() { callbacks_.wait(); }

  /// One answer serves all callers. Loop thread only.
  void probe(Duration per_call, Callback<Done> done);
  /// Loop thread only.
  [[nodiscard]] LockMemory& lock_memory() { return lock_memory_; }

 private:
  Connection();
  static void end(Connection* connection);

  LoopThread loop_;
  CallbackThread callbacks_;
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<SyncStore> sync_store_;
  std::string address_;
  ProbedStore whose_ = ProbedStore::kBuiltIn;
  Random probe_random_;
  bool found_safe_ = false;  ///< On the loop only.
  LockMemory lock_memory_;
};

}  // namespace muster::api
