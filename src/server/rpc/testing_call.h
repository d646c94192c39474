#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/call.h"

namespace muster::rpc {

/// A call without a network, for tests: what was written is there to look at, and a write is done
/// when the test says so. Its answer is taken at once, unless the test says otherwise.
class TestingCall final : public Call {
 public:
  explicit TestingCall(std::string method = "/test.Service/Method") : method_(std::move(method)) {}

  [[nodiscard]] const std::string& method() const override { return method_; }
  [[nodiscard]] Duration time_left() const override { return 10s; }
  [[nodiscard]] bool forwarded() const override { return false; }
  [[nodiscard]] std::string_view certificate() const override { return shown; }
  [[nodiscard]] std::string remote() const override { return "127.0.0.1"; }
  [[nodiscard]] std::uint64_t connection() const override { return connection_number; }
  [[nodiscard]] bool over() const override { return over_; }
  void read(std::function<void(std::optional<std::string>)> done) override {
    if (requests.empty()) return done({});
    std::string request = std::move(requests.front());
    requests.pop_front();
    done(std::move(request));
  }
  void write(Payload message, std::function<void()> done) override {
    if (over_) return;
    written.push_back(std::move(message));
    pending_ = std::move(done);
  }
  void finish(RpcStatus status) override {
    if (over_ || finished) return;
    finished = std::move(status);
    tell_ended(*finished);
    if (takes_answer) end();
  }
  void turn_away(RpcStatus status) override {
    turned_away = true;
    finish(std::move(status));
  }
  void reply(Payload message) override {
    written.push_back(std::move(message));
    finish({});
  }
  void on_over(std::function<void()> over) override { on_over_ = std::move(over); }
  void cut() override {
    was_cut = true;
    end();
  }

  /// The client has taken what was written last.
  bool take() {
    if (!pending_) return false;
    std::exchange(pending_, {})();
    return true;
  }
  void take_all() {
    while (take()) {
    }
  }
  /// The client is gone, or has taken its answer.
  void end() {
    if (std::exchange(over_, true)) return;
    tell_ended({Code::kCancelled, "the client disconnected", {}});
    tell_gone();
    if (const auto over = std::exchange(on_over_, {})) over();
  }

  std::deque<std::string> requests;
  std::vector<Payload> written;
  std::optional<RpcStatus> finished;
  std::string shown;  ///< The client's certificate.
  std::uint64_t connection_number = 0;
  bool takes_answer = true;  ///< False: the call is there until end().
  bool was_cut = false;
  bool turned_away = false;

 private:
  std::string method_;
  std::function<void()> pending_;
  std::function<void()> on_over_;
  bool over_ = false;
};

}  // namespace muster::rpc
