#include "core/client/retry_plan.h"

#include <algorithm>
#include <cmath>

namespace muster::client {

Status RetryConfig::validate() const {
  if (attempts_max < 1) return {Errc::kInvalid, "attempts_max must be at least 1"};
  if (first_delay <= 0ms || delay_max < first_delay) {
    return {Errc::kInvalid, "first_delay must be above zero and at most delay_max"};
  }
  if (!(jitter >= 0 && jitter < 1)) return {Errc::kInvalid, "jitter must be from 0 to below 1"};
  if (attempt_timeout <= 0ms) return {Errc::kInvalid, "attempt_timeout must be above zero"};
  return Done{};
}

Duration jittered(Duration delay, double jitter, Random& random) {
  return scale(delay, 1 + jitter * (2 * random.unit() - 1));
}

Verdict judge(const RpcStatus& status) {
  if (status.reach == Reach::kUnsent) return Verdict::kElsewhere;
  if (status.reach == Reach::kSent) return Verdict::kOpen;
  switch (status.code) {
    case RpcCode::kFailedPrecondition:
      return status.leader_address.empty() ? Verdict::kFinal : Verdict::kRedirected;
    case RpcCode::kUnavailable:
      return Verdict::kLater;
    case RpcCode::kUnknown:
    case RpcCode::kDeadlineExceeded:
    case RpcCode::kCancelled:
    case RpcCode::kInternal:
      return Verdict::kOpen;
    default:
      return Verdict::kFinal;
  }
}

RetryPlan::Attempt RetryPlan::next(const ServerBoard& board, MonoTime now) {
  asked_.push_back(board.choose(aim_, asked_));
  // The last attempt may use all the time that is left.
  const bool last = attempts() >= config_.attempts_max;
  return {asked_.back(), last ? by_ : std::min(by_, now + config_.attempt_timeout)};
}

std::optional<MonoTime> RetryPlan::failed(const RpcStatus& status, const ServerBoard& board,
                                          MonoTime now, Random& random) {
  const Verdict verdict = judge(status);
  if (verdict == Verdict::kOpen && effect_ != Effect::kRead) may_have_happened_ = true;
  if (verdict == Verdict::kFinal) return {};
  if (verdict == Verdict::kOpen && effect_ == Effect::kOnce) return {};
  if (attempts() >= config_.attempts_max) return {};
  // Going to a new server costs nothing; coming back to the same ones does.
  const auto was_asked = [&](const std::string& server) {
    return std::find(asked_.begin(), asked_.end(), server) != asked_.end();
  };
  const bool at_once = (verdict == Verdict::kRedirected && !was_asked(status.leader_address)) ||
                       (verdict == Verdict::kElsewhere && !was_asked(board.choose(aim_, asked_)));
  Duration delay{0};
  if (!at_once) {
    const int doublings = std::min(attempts() - 1, 30);
    const double planned = static_cast<double>(config_.first_delay.count()) * std::exp2(doublings);
    delay = planned >= static_cast<double>(config_.delay_max.count())
                ? config_.delay_max
                : Duration(static_cast<Duration::rep>(planned));
    delay = jittered(delay, config_.jitter, random);
  }
  const MonoTime when = now + delay;
  if (when >= by_) return {};
  return when;
}

std::string RetryPlan::tried() const {
  if (attempts() < 2) return {};
  std::vector<std::string> servers;
  for (const std::string& server : asked_) {
    if (std::find(servers.begin(), servers.end(), server) == servers.end()) {
      servers.push_back(server);
    }
  }
  std::string text = "tried ";
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const char* before = i == 0 ? "" : i + 1 == servers.size() ? " and " : ", ";
    text += before + servers[i];
  }
  if (servers.size() == asked_.size()) return text;
  return text + (servers.size() == 1 ? " " : ", ") + std::to_string(attempts()) + " times" +
         (servers.size() == 1 ? "" : " in all");
}

}  // namespace muster::client
