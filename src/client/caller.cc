#include "client/caller.h"

#include <algorithm>
#include <utility>

namespace muster::client {
namespace {

constexpr Duration kSearchPause = 1s;

}  // namespace

struct Caller::Pending {
  Pending(Loop& loop, WireRequest r, const RetryConfig& retry, MonoTime by, Done d)
      : request(std::move(r)),
        plan(retry, request.effect, request.aim, by),
        done(std::move(d)),
        pause(loop) {}

  WireRequest request;
  RetryPlan plan;
  Done done;
  Timer pause;
  std::unique_ptr<Call> call;
};

Caller::Caller(Transport& transport, std::vector<std::string> servers, const RetryConfig& retry,
               Random random)
    : transport_(transport),
      retry_(retry),
      random_(random),
      board_(std::move(servers), static_cast<std::size_t>(random_.next() >> 1)) {}

Caller::~Caller() {
  while (!calls_.empty()) {
    finish(calls_.begin()->first, Error{Errc::kCancelled, "the client has ended"});
  }
}

Connection& Caller::connection(const std::string& server) {
  auto found = connections_.find(server);
  if (found == connections_.end()) {
    // Leaders that were hinted at come and go; those that are neither configured nor leading now
    // are not kept.
    std::erase_if(connections_, [&](const auto& each) {
      const auto& known = board_.servers();
      return std::find(known.begin(), known.end(), each.first) == known.end() &&
             board_.leader() != each.first;
    });
    found = connections_.emplace(server, transport_.connect(server)).first;
  }
  return *found->second;
}

Caller::CallId Caller::start(WireRequest request, MonoTime by, Done done) {
  const CallId id = next_id_++;
  calls_.emplace(
      id, std::make_unique<Pending>(loop(), std::move(request), retry_, by, std::move(done)));
  attempt(id);
  return id;
}

void Caller::cancel(CallId id) {
  finish(id, Error{Errc::kCancelled, "the call was cancelled"});
}

void Caller::attempt(CallId id) {
  Pending& pending = *calls_.at(id);
  if (pending.request.aim == Aim::kLeader) seek_leader();
  const RetryPlan::Attempt next = pending.plan.next(board_, loop().now());
  pending.call = connection(next.server)
                     .unary(pending.request.method, pending.request.body, next.by,
                            [this, id](const RpcStatus& status, std::string body) {
                              answered(id, status, std::move(body));
                            });
}

void Caller::learn(const std::string& server, const RpcStatus& status) {
  if (status.reach == Reach::kAnswered) {
    was_answered_ = true;
    board_.answered(server);
    board_.learned_leader(status.leader_address);
  } else {
    board_.failed(server);
  }
}

void Caller::answered(CallId id, const RpcStatus& status, std::string body) {
  Pending& pending = *calls_.at(id);
  learn(pending.plan.asked_last(), status);
  if (status.ok()) return finish(id, std::move(body));
  const auto again = pending.plan.failed(status, board_, loop().now(), random_);
  if (!again) return fail(id, status);
  pending.call.reset();
  pending.pause.arm(*again, [this, id] { attempt(id); });
}

void Caller::fail(CallId id, const RpcStatus& status) {
  const Pending& pending = *calls_.at(id);
  const RetryPlan& plan = pending.plan;
  if (plan.may_have_happened() && pending.request.done_when == status.code && plan.attempts() > 1) {
    return finish(id, std::string());
  }
  Error error = to_error(status, plan.asked_last(), pending.request.effect);
  if (plan.attempts() > 1) error.message += "; " + plan.tried();
  // The last attempt did nothing, but one before it may have.
  if (plan.may_have_happened() && error.code == Errc::kUnavailable) {
    error.code = Errc::kAmbiguous;
    error.message += "; the change may have happened";
  }
  finish(id, std::move(error), status.replaced);
}

void Caller::finish(CallId id, Result<std::string> result, bool replaced) {
  auto found = calls_.extract(id);
  if (found.empty()) return;
  // Taken out first: `done` may start calls or cancel others.
  const std::unique_ptr<Pending> pending = std::move(found.mapped());
  replaced_ = replaced;
  pending->done(std::move(result));
}

void Caller::seek_leader() {
  if (retry_.attempts_max < 2 || board_.leader() || search_ || loop().now() < next_search_) return;
  next_search_ = loop().now() + kSearchPause;
  const WireRequest request = encode(HealthCheck{});
  const std::string server = board_.choose(Aim::kAny, {});
  search_ =
      connection(server).unary(request.method, request.body, loop().now() + retry_.attempt_timeout,
                               [this, server](const RpcStatus& status, const std::string& body) {
                                 search_.reset();
                                 learn(server, status);
                                 if (!status.ok()) return;
                                 if (const auto health = decode<HealthCheck>(body)) {
                                   board_.learned_leader(health->leader_address);
                                 }
                               });
}

}  // namespace muster::client
