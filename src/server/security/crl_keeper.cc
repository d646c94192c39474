#include "server/security/crl_keeper.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "platform/pki/crl.h"

namespace muster::server {
namespace {

void tell_closed(const CrlKeeper::Health& health) {
  log_error("every certificate is refused",
            {{"reason", *health.closed_because}, {"failures", std::to_string(health.failures)}});
}

}  // namespace

CrlKeeper::CrlKeeper(Loop& loop, Fetch fetch, std::vector<pki::Certificate> authorities,
                     Options options)
    : loop_(loop),
      fetch_(std::move(fetch)),
      options_(std::move(options)),
      authorities_(std::move(authorities)),
      kept_(options_.marks),
      revocations_(options_.timing),
      timer_(loop),
      end_(loop) {
  const MutexLock lock(mutex_);
  revocations_.remember(options_.marks);
}

void CrlKeeper::refresh() {
  if (in_flight_) {
    again_ = true;
    return;
  }
  in_flight_ = true;
  timer_.cancel();
  const MonoTime begun = loop_.now();
  fetch_(begun + options_.fetch_timeout,
         lifetime_.wrap([this, begun](const Result<std::string>& bytes) { take(bytes, begun); }));
}

void CrlKeeper::use_authorities(std::vector<pki::Certificate> authorities) {
  authorities_ = std::move(authorities);
  refresh();
}

void CrlKeeper::take(const Result<std::string>& bytes, MonoTime begun) {
  in_flight_ = false;
  const bool was_failing = health().failing;
  const bool news = bytes.ok() && *bytes != accepted_;
  const Status status = accept(bytes, begun);
  Duration wait{0};
  {
    const MutexLock lock(mutex_);
    if (!status) revocations_.note_failure();
    wait = revocations_.next_attempt();
  }
  if (status) keep_marks();
  report(status, was_failing);
  await_end();
  timer_.arm(std::exchange(again_, false) ? Duration(0) : wait, [this] { refresh(); });
  const bool closed = health().closed_because.has_value();
  const bool turned = std::exchange(closed_, closed) != closed;
  // Last, because it may ask anything of this keeper.
  if (((status && news) || turned) && changed_) changed_();
}

void CrlKeeper::await_end() {
  std::optional<Duration> left;
  {
    const MutexLock lock(mutex_);
    left = revocations_.good_for(loop_.now(), loop_.wall_now());
  }
  if (!left) return end_.cancel();
  end_.arm(*left, [this] { ran_out(); });
}

// The next attempt may be far away, or hang: those who are connected must not stay until then. Of
// two clocks one may say that it is not quite time yet; then it is awaited anew.
void CrlKeeper::ran_out() {
  await_end();
  const Health now = health();
  if (!now.closed_because) return;
  if (!std::exchange(closed_, true)) tell_closed(now);
  if (changed_) changed_();
}

Status CrlKeeper::accept(const Result<std::string>& bytes, MonoTime begun) {
  if (!bytes) return bytes.error();
  auto read = pki::read_revocation_lists(*bytes, authorities_);
  if (!read) return read.error();
  std::vector<security::IssuerRevocations> lists;
  for (pki::RevocationList& each : *read) {
    lists.push_back({std::move(each.issuer), std::move(each.key), each.this_update,
                     each.next_update, std::move(each.serials)});
  }
  const MutexLock lock(mutex_);
  Status status = revocations_.accept(std::move(lists), begun, loop_.wall_now());
  if (status) accepted_ = *bytes;
  return status;
}

// A list counts even if its mark cannot be kept: a full disk shuts nobody out. Each further list
// tries again.
void CrlKeeper::keep_marks() {
  if (!options_.keep_marks) return;
  std::vector<security::RevocationMark> marks;
  {
    const MutexLock lock(mutex_);
    marks = revocations_.marks();
  }
  if (marks == kept_) return;
  const Status kept = options_.keep_marks(marks);
  if (kept) {
    kept_ = std::move(marks);
  } else if (!marks_lost_) {
    log_error("after a restart, an older revocation list would be accepted",
              {{"reason", kept.error().message}});
  }
  marks_lost_ = !kept.ok();
}

void CrlKeeper::report(const Status& status, bool was_failing) {
  const Health now = health();
  const std::string failures = std::to_string(now.failures);
  if (!status && !was_failing) {
    log_warn("the revocation list was not renewed",
             {{"reason", status.error().message}, {"failures", failures}});
  }
  if (now.closed_because && !closed_) tell_closed(now);
  if (status && was_failing) log_info("revocation list renewed", {{"failures", failures}});
  const bool nearly_over = now.term && now.term->nearly_over();
  if (nearly_over && !std::exchange(nearly_over_, true)) {
    log_warn("the revocation list expires soon; have its CA issue a new one",
             {{"left", format_duration(now.term->left)}});
  }
  nearly_over_ = nearly_over;
}

security::Standing CrlKeeper::standing(const std::string& issuer, const std::string& serial) const {
  const MutexLock lock(mutex_);
  return revocations_.standing(issuer, serial, loop_.now(), loop_.wall_now());
}

CrlKeeper::Health CrlKeeper::health() const {
  const MutexLock lock(mutex_);
  const MonoTime now = loop_.now();
  const WallTime wall = loop_.wall_now();
  return {revocations_.failing(), revocations_.failures(), revocations_.age(now),
          revocations_.term(wall), revocations_.closed_because(now, wall)};
}

}  // namespace muster::server
