#include "server/gateway/call_desk.h"

#include <optional>
#include <utility>

namespace muster::server {
namespace {

/// For watches: what a service does in the time that is left need not hurry.
constexpr Duration kEndless = 1h;

}  // namespace

/// One call. It outlives its desk if a service holds it; then it is over.
class CallDesk::DeskCall final : public rpc::Call, public std::enable_shared_from_this<DeskCall> {
 public:
  DeskCall(CallDesk& desk, CallId id, CallOrder order)
      : desk_(&desk), id_(id), order_(std::move(order)), deadline_(desk.loop_) {
    if (order_.patience == 0s) return;
    by_ = desk.loop_.now() + order_.patience;
    deadline_.arm(*by_, [this] {
      const auto self = shared_from_this();
      finish({rpc::Code::kDeadlineExceeded,
              "there was no answer within " + std::to_string(to_ms(order_.patience)) +
                  " ms; a change may have been made, or may be made yet",
              {}});
    });
  }

  [[nodiscard]] const std::string& method() const override { return order_.method; }
  [[nodiscard]] Duration time_left() const override {
    return by_ && desk_ != nullptr ? *by_ - desk_->loop_.now() : kEndless;
  }
  [[nodiscard]] bool forwarded() const override { return false; }
  [[nodiscard]] std::string_view certificate() const override { return order_.certificate; }
  [[nodiscard]] std::string remote() const override { return order_.remote; }
  // No other name: what servers tell each other in metadata is nothing for a client to say.
  [[nodiscard]] std::string metadata(const std::string& name) const override {
    return name == rpc::kRequestIdKey ? order_.request_id : std::string();
  }
  [[nodiscard]] bool over() const override { return over_; }

  void read(std::function<void(std::optional<std::string>)> done) override {
    if (over_) return;
    if (std::exchange(read_, true)) return done({});
    done(std::move(order_.request));
  }

  void write(rpc::Payload message, std::function<void()> done) override {
    if (over_) return;
    taken_ = std::move(done);
    desk_->message(id_, std::move(message));
  }

  void finish(rpc::RpcStatus status) override {
    if (over_) return;
    desk_->ended(id_, status);
    end(status);
  }

  void reply(rpc::Payload message) override {
    if (over_) return;
    desk_->message(id_, std::move(message));
    finish({});
  }

  void on_over(std::function<void()> over) override { on_over_ = std::move(over); }

  void cut() override { finish({rpc::Code::kCancelled, "this server has ended the call", {}}); }

  void take() {
    if (const auto taken = std::exchange(taken_, {})) taken();
  }

  /// Ends the call without an answer.
  void end(const rpc::RpcStatus& status) {
    if (std::exchange(over_, true)) return;
    const auto self = shared_from_this();
    desk_ = nullptr;
    deadline_.cancel();
    taken_ = {};
    tell_ended(status);
    tell_gone();
    if (const auto over = std::exchange(on_over_, {})) over();
  }

 private:
  CallDesk* desk_;  ///< Null once the call is over.
  const CallId id_;
  CallOrder order_;
  std::optional<MonoTime> by_;
  Timer deadline_;
  bool read_ = false;
  bool over_ = false;
  std::function<void()> taken_;
  std::function<void()> on_over_;
};

CallDesk::~CallDesk() {
  const auto calls = std::exchange(calls_, {});
  for (const auto& [id, call] : calls) {
    call->end({rpc::Code::kUnavailable, "this server is stopping", {}});
  }
}

void CallDesk::begin(CallId id, CallOrder order) {
  const auto call = std::make_shared<DeskCall>(*this, id, std::move(order));
  calls_.emplace(id, call);
  serve_(call);
}

std::shared_ptr<CallDesk::DeskCall> CallDesk::find(CallId id) const {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : found->second;
}

void CallDesk::take(CallId id) {
  if (const auto call = find(id)) call->take();
}

void CallDesk::cancel(CallId id) {
  const auto call = find(id);
  if (!call) return;
  forget(id);
  call->end({rpc::Code::kCancelled, "the client disconnected", {}});
}

void CallDesk::drain(Duration limit, std::function<void()> done) {
  drained_ = std::move(done);
  const Duration wait = calls_.empty() ? Duration(0) : limit;
  drained_timer_.arm(wait, [this] {
    if (const auto drained = std::exchange(drained_, {})) drained();
  });
}

void CallDesk::forget(CallId id) {
  calls_.erase(id);
  if (drained_ && calls_.empty()) drain(Duration(0), std::exchange(drained_, {}));
}

void CallDesk::message(CallId id, rpc::Payload bytes) {
  if (outlet_.message) outlet_.message(id, std::move(bytes));
}

void CallDesk::ended(CallId id, rpc::RpcStatus status) {
  forget(id);
  if (outlet_.ended) outlet_.ended(id, std::move(status));
}

}  // namespace muster::server
