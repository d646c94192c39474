#include "store/s3/credentials.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace muster::s3 {
namespace {

constexpr Duration kFetchTimeout = 10s;
constexpr Duration kRenewAhead = 5min;
constexpr Duration kRenewAgain = 10s;

}  // namespace

CredentialProvider::~CredentialProvider() {
  for (const auto& [id, waiter] : waiters_) loop_.cancel(waiter.timer);
}

void CredentialProvider::get(MonoTime by, Callback<Credentials> done) {
  const MonoTime now = loop_.now();
  if (current_ && (!current_->expires || now < *current_->expires)) {
    if (now >= renew_at_) fetch();
    // A source that answers at once may have replaced them.
    return done(current_->credentials);
  }
  const std::uint64_t id = next_waiter_++;
  const auto give_up = [this, id] {
    const auto node = waiters_.extract(id);
    node.mapped().done(
        {Errc::kUnavailable, "no credentials from " + source_.name + " before the deadline"});
  };
  waiters_.emplace(id, Waiter{std::move(done), loop_.at(by, give_up)});
  fetch();
}

void CredentialProvider::reject(const Credentials& refused) {
  if (!current_ || current_->credentials.access_key_id != refused.access_key_id ||
      current_->credentials.session_token != refused.session_token) {
    return;
  }
  current_.reset();
}

void CredentialProvider::fetch() {
  if (std::exchange(fetching_, true)) return;
  source_.fetch(
      loop_.now() + kFetchTimeout,
      lifetime_.wrap([this](Result<TimedCredentials> result) { fetched(std::move(result)); }));
}

void CredentialProvider::fetched(Result<TimedCredentials> result) {
  fetching_ = false;
  const MonoTime now = loop_.now();
  if (result) {
    current_ = *result;
    renew_at_ = MonoTime::max();
    if (current_->expires) {
      // Half of a short life, so that even the shortest is renewed before its end.
      renew_at_ = std::max(*current_->expires - kRenewAhead, now + (*current_->expires - now) / 2);
    }
  } else {
    renew_at_ = now + kRenewAgain;
    // With nobody waiting the error would be lost; otherwise the waiters tell it.
    if (waiters_.empty())
      log_warn("no new credentials for the object store",
               {{"source", source_.name}, {"reason", result.error().message}});
  }
  Result<Credentials> outcome =
      result ? Result<Credentials>(result->credentials) : Result<Credentials>(result.error());
  // A callback may ask again or destroy this object: nothing of it is touched after the first.
  auto waiting = std::exchange(waiters_, {});
  for (const auto& [id, waiter] : waiting) loop_.cancel(waiter.timer);
  for (auto& [id, waiter] : waiting) waiter.done(outcome);
}

}  // namespace muster::s3
