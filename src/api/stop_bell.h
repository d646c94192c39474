#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "api/connection.h"
#include "platform/doorbell.h"

namespace muster::api {

/// Calls `stopped` on the loop when `stop` is requested, also by a signal handler.
class StopBell {
 public:
  StopBell(Connection& connection, const std::stop_token& stop, std::function<void()> stopped)
      : connection_(connection) {
    if (!stop.stop_possible()) return;
    connection_.thread().run([&] { bell_.emplace(connection_.loop(), std::move(stopped)); });
    ring_.emplace(stop, Ring{*bell_});
  }
  ~StopBell() {
    ring_.reset();
    if (bell_) connection_.thread().run([this] { bell_.reset(); });
  }
  StopBell(const StopBell&) = delete;
  StopBell& operator=(const StopBell&) = delete;

 private:
  struct Ring {
    Doorbell& bell;
    void operator()() const { bell.ring(); }
  };
  Connection& connection_;
  std::optional<Doorbell> bell_;
  std::optional<std::stop_callback<Ring>> ring_;
};

}  // namespace muster::api
