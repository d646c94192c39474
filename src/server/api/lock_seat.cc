#include "server/api/lock_seat.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/log.h"
#include "core/election/lease.h"
#include "server/rpc/message.h"
#include "server/web/observer.h"

namespace muster::server {
namespace {

/// A call waits for the lock at most so long, so that it may be forwarded.
constexpr Duration kLockCallMax = 5s;
/// A lock that a client could not be told of is kept for it so long, as its place was.
constexpr Duration kUnclaimedKept = 3s;
constexpr std::uint32_t kTtlUsualMs = 6000;
constexpr std::uint32_t kReadersUsual = 8;
constexpr std::uint32_t kWaitMsMax = 24 * 60 * 60 * 1000;

/// The client must hear the answer before it stops listening.
Duration answerable(const rpc::CallPtr& call) {
  const Duration left = call->time_left();
  return std::min(left - std::max<Duration>(100ms, left / 8), kLockCallMax);
}

std::uint64_t ms_left(Duration time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ms, 0));
}

LockTaker::Options taker_options(const LockWish& wish) {
  LockTaker::Options options;
  options.name = wish.name;
  options.shape = wish.shape;
  options.writes = wish.writes;
  options.ttl = wish.ttl;
  options.holder = wish.holder;
  options.session = wish.session;
  return options;
}

/// The parts that every request has. `prefix` gets its '/'.
Status check_names(const std::string& name, const std::string& session, std::string& prefix) {
  if (Status s = validate_name("name", name); !s) return s;
  if (Status s = validate_name("session", session); !s) return s;
  if (prefix.empty()) return Done{};
  if (Status s = cluster::validate_key(prefix); !s) {
    return {Errc::kInvalid, "prefix: " + s.error().message};
  }
  prefix += '/';
  return Done{};
}

}  // namespace

Result<LockWish> LockWish::from(const v1::LockAcquireRequest& request) {
  LockWish wish;
  wish.name = request.name();
  wish.prefix = request.prefix();
  if (Status s = check_names(wish.name, request.session(), wish.prefix); !s) return s.error();
  if (!request.holder().empty()) {
    if (Status s = validate_name("holder", request.holder()); !s) return s.error();
  }
  if (request.wait_ms() > kWaitMsMax) return {Errc::kInvalid, "wait_ms must be at most a day"};
  wish.session = Incarnation(request.session());
  // Unique, as the library's are: two holders may have one name.
  wish.holder = WorkerId((request.holder().empty() ? "session" : request.holder()).substr(0, 100) +
                         "-" + request.session().substr(0, 8));
  const bool read_write = request.has_shared();
  wish.writes = read_write && !request.shared();
  const std::uint32_t usual = read_write ? kReadersUsual : 1;
  wish.shape.permits = request.permits() == 0 ? usual : request.permits();
  wish.shape.kind = read_write                ? LockKind::kReadWrite
                    : wish.shape.permits == 1 ? LockKind::kMutex
                                              : LockKind::kSemaphore;
  wish.ttl = std::chrono::milliseconds(request.ttl_ms() == 0 ? kTtlUsualMs : request.ttl_ms());
  if (Status s = LockTaker::validate(taker_options(wish)); !s) return s.error();
  return wish;
}

Result<LockWish> LockWish::from(const std::string& name, const std::string& session,
                                const std::string& prefix, const LockHandle& handle) {
  LockWish wish;
  wish.name = name;
  wish.prefix = prefix;
  if (Status s = check_names(name, session, wish.prefix); !s) return s.error();
  wish.session = Incarnation(session);
  wish.holder = WorkerId(handle.holder);
  wish.shape = handle.shape;
  wish.writes = handle.writes;
  wish.ttl = handle.ttl;
  if (Status s = LockTaker::validate(taker_options(wish)); !s) return s.error();
  return wish;
}

LockSeat::LockSeat(LockWish wish, Deps deps)
    : wish_(std::move(wish)),
      cluster_(deps.cluster),
      deps_(std::move(deps)),
      loop_(cluster_.loop()),
      store_(cluster_, wish_.prefix),
      answer_(loop_),
      tell_(loop_),
      unclaimed_(loop_) {}

LockSeat::~LockSeat() = default;

LockView LockSeat::view() const {
  return view_lock(cluster_.state().kv(), cluster_.replica().log_now(), wish_.prefix, wish_.name);
}

rpc::RpcStatus LockSeat::not_held() const {
  return {rpc::Code::kNotFound,
          "the session does not hold the lock \"" + wish_.name + "\" any more",
          {}};
}

// The calls of the client.

void LockSeat::acquire(const rpc::CallPtr& call, Duration wait) {
  if (const auto earlier = std::exchange(waiting_, nullptr)) {
    earlier->finish({rpc::Code::kAborted, "the session has asked again", {}});
  }
  if (phase_ == Phase::kHeld) {
    expect({call, loop_.now(), /*acquires=*/true});
    return tell();
  }
  waiting_ = call;
  asked_at_ = loop_.now();
  wait_until_ = asked_at_ + wait;
  once_ = wait <= Duration(0);
  call->on_over(lifetime_.wrap([this, over = call.get()] {
    if (waiting_.get() != over) return;
    waiting_ = nullptr;
    answer_.cancel();
    tell_.cancel();
    later([this] { deps_.absent(/*for_good=*/false); });
  }));
  // The longer it waits, the less of the ttl is left to the client: clocks differ.
  const Duration longest = std::min(answerable(call), wish_.ttl);
  const bool tries = once_ && phase_ == Phase::kIdle;
  answer_.arm(tries ? longest : std::min(wait, longest), [this] { answer_waiting(); });
  if (taker_) keep_telling();
}

void LockSeat::answer_waiting() {
  const rpc::CallPtr call = std::exchange(waiting_, nullptr);
  tell_.cancel();
  if (!call) return;
  const LockView seen = view();
  if (loop_.now() >= wait_until_) {
    waiting_ = call;
    leave({rpc::Code::kAborted, seen.held(wish_.name), {}});
    return later([this] { deps_.absent(/*for_good=*/true); });
  }
  v1::LockAcquireResponse response;
  response.set_waiting(true);
  response.set_place(static_cast<std::uint32_t>(deps_.place()));
  if (!seen.holders.empty()) response.set_held_by(seen.holders.front().id.value());
  rpc::reply(call, response);
  later([this] { deps_.absent(/*for_good=*/false); });
}

void LockSeat::renew(const rpc::CallPtr& call) {
  expect({call, loop_.now(), /*acquires=*/false});
  tell();
}

void LockSeat::expect(Renewal renewal) {
  unclaimed_.cancel();
  loop_.at(loop_.now() + answerable(renewal.call), lifetime_.wrap([this, call = renewal.call] {
    const auto late = std::find_if(renewals_.begin(), renewals_.end(),
                                   [&](const Renewal& each) { return each.call == call; });
    if (late == renewals_.end()) return;
    renewals_.erase(late);
    call->finish({rpc::Code::kUnavailable,
                  "the servers have not confirmed that the lock \"" + wish_.name +
                      "\" is renewed; send the request again",
                  {}});
  }));
  renewals_.push_back(std::move(renewal));
}

void LockSeat::release(const rpc::CallPtr& call) {
  releases_.push_back(call);
  if (phase_ == Phase::kHeld) return give_back();
  if (phase_ == Phase::kIdle || phase_ == Phase::kCompeting) {
    leave({rpc::Code::kAborted, "the session has given up the lock", {}});
  }
}

void LockSeat::leave(const rpc::RpcStatus& status) {
  answer_.cancel();
  tell_.cancel();
  if (const auto call = std::exchange(waiting_, nullptr)) call->finish(status);
  if (phase_ == Phase::kHeld || phase_ == Phase::kCompeting) return give_back();
  if (phase_ == Phase::kIdle) on_end({});
}

void LockSeat::drop(const rpc::RpcStatus& status) {
  phase_ = Phase::kEnded;
  lifetime_.renew();
  answer_.cancel();
  tell_.cancel();
  unclaimed_.cancel();
  taker_.reset();
  finish_all(status);
}

void LockSeat::finish_all(const rpc::RpcStatus& status) {
  if (const auto call = std::exchange(waiting_, nullptr)) call->finish(status);
  for (const Renewal& each : std::exchange(renewals_, {})) each.call->finish(status);
  for (const auto& call : std::exchange(releases_, {})) call->finish(status);
}

// What is done for it.

void LockSeat::compete() {
  phase_ = Phase::kCompeting;
  start({});
}

void LockSeat::resume(std::vector<HeldPermit> permits) {
  phase_ = Phase::kResuming;
  resumed_ = permits;
  start(std::move(permits));
}

void LockSeat::start(std::vector<HeldPermit> resumed) {
  LockTaker::Options options = taker_options(wish_);
  options.once = once_ && resumed.empty();
  options.resumed = std::move(resumed);
  LockTaker::Hooks hooks;
  hooks.on_held = [this](std::shared_ptr<const LeaseGuard> guard) { on_held(std::move(guard)); };
  hooks.on_renewed = [this](MonoTime until) { on_renewed(until); };
  hooks.on_lost = [this](const Error& why) { on_lost(why); };
  hooks.on_end = [this](const std::optional<Status>& how) { on_end(how); };
  taker_ = std::make_unique<LockTaker>(
      std::move(options),
      LockTaker::Deps{loop_, store_, Random(deps_.random.next()), {}, &deps_.memory},
      std::move(hooks));
  taker_->start();
  keep_telling();
}

void LockSeat::tell() {
  if (taker_) taker_->told();
}

void LockSeat::keep_telling() {
  tell();
  if (waiting_) tell_.arm(wish_.ttl / 5, [this] { keep_telling(); });
}

void LockSeat::give_back() {
  phase_ = Phase::kEnding;
  unclaimed_.cancel();
  later([this] {
    if (taker_) taker_->release();
  });
}

void LockSeat::on_held(std::shared_ptr<const LeaseGuard> guard) {
  guard_ = std::move(guard);
  if (phase_ == Phase::kEnding) return;  // It is about to be given back.
  const bool resumed = phase_ == Phase::kResuming;
  known_to_client_ = resumed;
  phase_ = Phase::kHeld;
  later([this, resumed] { deps_.held(resumed); });
  if (!releases_.empty()) return give_back();
  answer_.cancel();
  tell_.cancel();
  if (const auto call = std::exchange(waiting_, nullptr)) {
    expect({call, asked_at_, /*acquires=*/true});
  } else if (!known_to_client_) {
    unclaimed_.arm(kUnclaimedKept, [this] { give_back(); });
  }
  on_renewed(guard_->deadline());
  // The lease may have begun because of an earlier call.
  if (!renewals_.empty()) later([this] { tell(); });
}

void LockSeat::on_renewed(MonoTime until) {
  if (phase_ != Phase::kHeld) return;
  const LeaseTerms terms{wish_.ttl};
  for (auto it = renewals_.begin(); it != renewals_.end();) {
    const auto left = left_since_send(it->received, until, terms);
    if (!left) {
      ++it;
      continue;
    }
    const Renewal confirmed = *it;
    it = renewals_.erase(it);
    grant(confirmed, *left);
  }
}

void LockSeat::grant(const Renewal& renewal, Duration left) {
  const std::uint64_t left_ms = ms_left(left);
  known_to_client_ = true;
  if (!renewal.acquires) {
    v1::LockRenewResponse response;
    response.set_left_ms(left_ms);
    return rpc::reply(renewal.call, response);
  }
  v1::LockAcquireResponse response;
  response.set_token(guard_->epoch().value());
  response.set_left_ms(left_ms);
  response.set_handle(encode(
      LockHandle{wish_.shape, wish_.writes, wish_.ttl, taker_->holds_by(), wish_.holder.value()}));
  rpc::reply(renewal.call, response);
}

void LockSeat::on_lost(const Error& why) {
  cluster_.observer().metrics().locks_lost.add();
  phase_ = Phase::kEnding;
  unclaimed_.cancel();
  // Not in time: if nobody has taken the lock, the same request sent again goes on with it.
  const bool late = why.code == Errc::kUnavailable;
  const rpc::RpcStatus status{
      late ? rpc::Code::kUnavailable : rpc::Code::kNotFound, why.message, {}};
  for (const Renewal& each : std::exchange(renewals_, {})) each.call->finish(status);
}

void LockSeat::on_end(const std::optional<Status>& how) {
  const bool resumed = phase_ == Phase::kResuming;
  const bool failed = how && !how->ok() && !how->is(Errc::kAmbiguous);
  // What the session held is gone; it may still want the lock.
  const bool asks = waiting_ != nullptr && resumed && !failed;
  answer_releases(resumed && !how ? std::optional(Status(Errc::kNotFound, "")) : how);
  for (const Renewal& each : std::exchange(renewals_, {})) {
    each.call->finish(failed && resumed ? rpc::to_status(how->error()) : not_held());
  }
  if (!asks) {
    answer_.cancel();
    tell_.cancel();
    if (const auto call = std::exchange(waiting_, nullptr)) {
      call->finish(failed ? rpc::to_status(how->error())
                          : rpc::RpcStatus{rpc::Code::kAborted, view().held(wish_.name), {}});
    }
  }
  phase_ = Phase::kEnding;
  later([this, asks] {
    taker_.reset();
    guard_.reset();
    resumed_.clear();
    phase_ = asks ? Phase::kIdle : Phase::kEnded;
    deps_.ended(asks && waiting_ != nullptr);
  });
}

void LockSeat::answer_releases(const std::optional<Status>& how) {
  for (const auto& call : std::exchange(releases_, {})) {
    v1::LockReleaseResponse response;
    response.set_confirmed(!how || how->ok());
    const bool gone = how && !how->ok() && !how->is(Errc::kAmbiguous);
    // An earlier release may have landed without its answer.
    const bool before = gone && !resumed_.empty() &&
                        says_released(cluster_.state().kv(), wish_.prefix, wish_.name,
                                      wish_.session, resumed_.front());
    if (before) response.set_confirmed(true);
    if (gone && !before) {
      call->finish(not_held());
    } else {
      rpc::reply(call, response);
    }
  }
}

}  // namespace muster::server
