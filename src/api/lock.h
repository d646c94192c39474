#pragma once

#include <muster/lock.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "api/connection.h"
#include "elector/lease_guard.h"
#include "elector/lock_taker.h"

namespace muster::api {

/// What a pub::Lock is: a taker on the loop of its connection. Any thread, unless a function says
/// something else.
class LockCore final : public std::enable_shared_from_this<LockCore> {
 public:
  using Core = std::shared_ptr<LockCore>;
  [[nodiscard]] static pub::Result<Core> acquire(const pub::Arbiter& arbiter,
                                                 const std::string& name, pub::LockOptions options);

  [[nodiscard]] bool held() const { return guard_ && guard_->valid(); }
  [[nodiscard]] Duration left() const;
  [[nodiscard]] pub::Token token() const { return guard_->epoch().value(); }
  [[nodiscard]] pub::Status unlock();
  /// The handle is gone.
  void end();

 private:
  LockCore(std::shared_ptr<Connection> connection, pub::LockOptions options);
  void open(LockTaker::Options taker);
  [[nodiscard]] std::optional<pub::Error> wait(const std::string& name);
  void release();
  void wait_for_end();
  void ended(const std::optional<Status>& how, const std::string& trouble);

  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<const pub::LockOptions> options_;  ///< Callbacks under way share them.
  std::unique_ptr<LockTaker> taker_;                       ///< Loop thread only.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const LeaseGuard> guard_;  ///< Set once, before the handle is made.
  bool ended_ = false;
  std::optional<pub::Status> how_;  ///< The end, if it has a reason of its own.
  std::string trouble_;
  bool unlocked_ = false;
  Core self_;  ///< Keeps a core whose handle did not wait.
};

}  // namespace muster::api
