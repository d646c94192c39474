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
  const auto [history, text] = unstamp(cursor);
  const auto revision = to_number(text);
  after = {history, revision.value_or(0)};
  lost = !revision;
}

ResumingWatch::ResumingWatch(Loop& loop, FindRevision find_revision, Setup setup)
    : find_revision_(std::move(find_revision)), setup_(std::move(setup)), timer_(loop) {}

void ResumingWatch::open() {
  // Until "now" has a number, it must not come to mean "after the write that our caller sends
  // next": that write is held back.
  const bool hold = after() == 0 && !setup_.lost;
  find_revision_(setup_.after, hold, [self = shared_from_this()](Result<Mark> mark) {
    if (!self->closed_) self->on_mark(std::move(mark));
  });
}

void ResumingWatch::close() {
  closed_ = true;
  timer_.cancel();
  drop_stream();
  setup_.on_event = nullptr;
}

void ResumingWatch::on_mark(Result<Mark> mark) {
  if (mark.is(Errc::kCorrupt)) {
    // There is nothing to go on from. The list that follows a reset tells the caller why.
    log_error("store watch ended", {{"store", setup_.store}, {"reason", mark.error().message}});
    return reset_at(after());
  }
  if (!mark) {
    // Without a revision to resume from, what changes until one is found cannot be told.
    return reopen(mark.error().message, after() == 0);
  }
  // What a number of another history would resume from is something else now.
  if (after() != 0 && setup_.after.history != mark->history) setup_.lost = true;
  setup_.after.history = mark->history;
  if (setup_.lost || after() == 0) {
    setup_.after = *mark;
    if (std::exchange(setup_.lost, false)) reset_at(after());
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

void ResumingWatch::deliver(WatchEvent event) {
  const std::uint64_t history = setup_.after.history;
  event.cursor = stamp(history, std::move(event.cursor));
  event.object.revision = Revision(stamp(history, event.object.revision.value()));
  // A copy: the caller may close the watch, which lets go of the function, from within it.
  const auto on_event = setup_.on_event;
  on_event(event);
}

void ResumingWatch::advance(std::int64_t revision) {
  setup_.after.floor = std::max(setup_.after.floor, revision);
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
