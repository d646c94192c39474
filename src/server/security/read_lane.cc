#include "server/security/read_lane.h"

namespace muster::server {

void ReadLane::add(const rpc::CallPtr& call, std::function<void()> answer) {
  if (waiting_.size() >= waiting_max_) {
    return call->finish(
        {rpc::Code::kResourceExhausted, "too many readers wait at this server", {}, 1s});
  }
  waiting_.emplace_back(call, std::move(answer));
  if (!taken_) next();
}

void ReadLane::next() {
  taken_ = false;
  // Those whose client has gone cost nothing, and no turn.
  while (!waiting_.empty() && !taken_) {
    const auto [call, answer] = std::move(waiting_.front());
    waiting_.pop_front();
    if (call->over()) continue;
    taken_ = true;
    loop_.post(lifetime_.wrap([this] { next(); }));
    answer();
  }
}

}  // namespace muster::server
