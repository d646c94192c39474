#include "store/remote/resuming_watch.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/remote/numbers.h"

namespace muster::remote {
namespace {

constexpr Duration kOpenTimeout = 3s;
constexpr Duration kLeastBackoff = 50ms;
constexpr Duration kMostBackoff = 2s;

}  // namespace

void ResumingWatch::Setup::resume(const std::string& cursor) {
  if (cursor.empty()) return;
  const auto revision = to_number(cursor);
  after = revision.value_or(0);
  lost = !revision;
}

ResumingWatch::ResumingWatch(Loop& loop, FindRevision find_revision, Setup setup)
    : find_revision_(std::move(find_revision)), setup_(std::move(setup)), timer_(loop) {}

void ResumingWatch::open() {
  // Until "now" has a number, it must not come to mean "after the write that our caller sends
  // next": that write is held back.
  const bool hold = setup_.after == 0 && !setup_.lost;
  find_revision_(setup_.after, hold, [self = shared_from_this()](Result<std::int64_t> revision) {
    if (!self->closed_) self->on_revision(std::move(revision));
  });
}

void ResumingWatch::close() {
  closed_ = true;
  timer_.cancel();
  drop_stream();
  setup_.on_event = nullptr;
}

void ResumingWatch::on_revision(Result<std::int64_t> revision) {
  if (revision.is(Errc::kCorrupt)) {
    // There is nothing to go on from. The list that follows a reset tells the caller why.
    log_error("store watch ended", {{"store", setup_.store}, {"reason", revision.error().message}});
    return reset_at(setup_.after);
  }
  if (!revision) {
    // Without a revision to resume from, what changes until one is found cannot be told.
    return reopen(revision.error().message, setup_.after == 0);
  }
  if (setup_.lost || setup_.after == 0) {
    setup_.after = *revision;
    if (std::exchange(setup_.lost, false)) reset_at(*revision);
  }
  if (!closed_) start_stream();
}

void ResumingWatch::limit_opening(std::function<void()> expired) {
  timer_.arm(kOpenTimeout, std::move(expired));
}

void ResumingWatch::in_force() {
  timer_.cancel();
  backoff_ = Duration::zero();
  reported_.clear();
}

void ResumingWatch::deliver(const WatchEvent& event) {
  // A copy: the caller may close the watch, which lets go of the function, from within it.
  const auto on_event = setup_.on_event;
  on_event(event);
}

void ResumingWatch::advance(std::int64_t revision) {
  setup_.after = std::max(setup_.after, revision);
}

void ResumingWatch::reset_at(std::int64_t revision) {
  deliver({WatchEvent::Kind::kReset, {}, {}, std::to_string(revision)});
}

void ResumingWatch::reopen(const std::string& reason, bool lost) {
  drop_stream();
  setup_.lost = setup_.lost || lost;
  if (reported_ != reason) {
    reported_ = reason;
    log_warn("store watch interrupted",
             {{"store", setup_.store}, {"prefix", setup_.prefix}, {"reason", reason}});
  }
  backoff_ = std::clamp(backoff_ * 2, kLeastBackoff, kMostBackoff);
  timer_.arm(backoff_, [this] { open(); });
}

}  // namespace muster::remote
