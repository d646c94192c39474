// Reading: rounds of gets, what the watch pushes, and linearizable reads.
#include <algorithm>
#include <utility>

#include "log/replica.h"

namespace muster::rlog {
namespace {

/// A reader far behind asks for so many numbers at once, so that it outruns any writer.
constexpr std::size_t kWidthMax = 16;
/// What the watch pushed meanwhile is kept up to this; beyond it, it is read again.
constexpr std::size_t kPushedMax = 64;
/// How often a round also looks for the last applied entry, to find a store that went back.
constexpr Duration kAnchorInterval = 30s;
/// Where the store pushes, polling only guards against a push that never came.
constexpr int kWatchedPollFactor = 10;

}  // namespace

// Nothing is to be found below the floor.
bool ReplicatedLog::Impl::anchor_wanted() const {
  return anchor_due_ && position_.index > manifest_.value().floor;
}

bool ReplicatedLog::Impl::anchor_overdue() const {
  return context_.loop.now() - anchored_ >= kAnchorInterval &&
         position_.index > manifest_.value().floor;
}

void ReplicatedLog::Impl::start_round() {
  busy_ = true;
  look_ = false;
  look_timer_.cancel();
  const MonoTime now = context_.loop.now();
  if (!unanswered_since_) unanswered_since_ = now;
  if (now - anchored_ >= kAnchorInterval) anchor_due_ = true;
  round_ = {};
  round_.first = next(position_.index);
  round_.began = now;
  round_.readers_before = next_reader_;
  round_.wants_anchor = anchor_wanted();
  round_.answers.resize(width_);
  round_.missing = width_ + (round_.wants_anchor ? 1 : 0);
  for (std::size_t i = 0; i < width_; ++i) {
    ask(Index(round_.first.value() + i), round_.answers[i]);
  }
  if (round_.wants_anchor) ask(position_.index, round_.anchor);
}

void ReplicatedLog::Impl::ask(Index index, std::optional<Result<Object>>& answer) {
  context_.get(context_.keys.entry(index), {},
               lifetime_.wrap([this, &answer](Result<Object> object) {
                 if (mode_ == Mode::kStopped) return;
                 answer.emplace(std::move(object));
                 if (--round_.missing == 0) round_answered();
               }));
}

void ReplicatedLog::Impl::round_answered() {
  // In a guarded log what is there counts. An absence never counts before the floor is read (L4).
  const auto present = [](const std::optional<Result<Object>>& answer) { return answer->ok(); };
  const bool all_present = std::all_of(round_.answers.begin(), round_.answers.end(), present) &&
                           (!round_.wants_anchor || round_.anchor->ok());
  if (manifest_.value().guarded && all_present) return finish_round();
  manifest_.refresh(lifetime_.wrap([this](const Status& read) {
    if (mode_ == Mode::kStopped) return;
    if (read) return finish_round();
    if (!is_passing(read.code())) return stop(read.error());
    report_delay(read.error());
    back_off();
    idle();
  }));
}

void ReplicatedLog::Impl::finish_round() {
  const Manifest& manifest = manifest_.value();
  bool anchor_missed = false;
  if (round_.wants_anchor && manifest.floor < position_.index) {
    const Result<Object>& anchor = *round_.anchor;
    const std::string key = context_.keys.entry(position_.index);
    if (anchor.is(Errc::kNotFound)) {
      return stop({Errc::kConflict, key + " was applied and is missing: the store went back"});
    }
    if (anchor.ok() &&
        (anchor->body.size() < sizeof(Digest) || digest_at_end(anchor->body) != position_.chain)) {
      return stop({Errc::kConflict, key + " is not the entry that was applied"});
    }
    if (!anchor.ok() && !is_passing(anchor.code())) return stop(named(key, anchor.error()));
    anchor_missed = !anchor.ok();
    if (anchor.ok()) {
      anchor_due_ = false;
      anchored_ = round_.began;
    }
  }
  bool all_present = true;
  for (std::size_t i = 0; i < round_.answers.size() && all_present; ++i) {
    const Index index(round_.first.value() + i);
    const Result<Object>& answer = *round_.answers[i];
    all_present = answer.ok();
    const bool counts = (manifest.guarded && answer.ok()) || manifest.floor < index;
    if (!counts) return load_snapshot();
    if (answer.ok()) {
      if (!apply(answer->body, Origin::kOther)) return;
    } else if (answer.is(Errc::kNotFound)) {
      at_head();
    } else if (!is_passing(answer.code())) {
      return stop(named(context_.keys.entry(index), answer.error()));
    } else {
      report_delay(answer.error());
      back_off();
    }
  }
  width_ = all_present ? std::min(width_ * 2, kWidthMax) : 1;
  if (all_present) look_ = true;
  if (anchor_missed) back_off();
  idle();
}

void ReplicatedLog::Impl::at_head() {
  last_contact_ = std::max(last_contact_, round_.began);
  unanswered_since_.reset();
  // The round may have begun before lead() asked for the anchor, or not have found out about it.
  if (term_ && !anchor_wanted()) term_->caught_up = true;
  if (mode_ == Mode::kOpening) opened();
  answer_readers(round_.readers_before);
  look_later(context_.options.poll_interval * (watch_ ? kWatchedPollFactor : 1));
}

void ReplicatedLog::Impl::look_later(Duration wait) {
  look_timer_.arm(context_.random.between(wait, wait + wait / 4), [this] {
    look_ = true;
    schedule();
  });
}

void ReplicatedLog::Impl::back_off() {
  round_not_before_ = context_.loop.now() + context_.options.retry_wait;
  look_later(context_.options.retry_wait);
}

void ReplicatedLog::Impl::on_watch(const WatchEvent& event) {
  if (event.kind == WatchEvent::Kind::kReset) {
    look_ = true;
    anchor_due_ = true;
    return schedule();
  }
  const auto index = context_.keys.entry_of(event.key);
  if (event.kind != WatchEvent::Kind::kPut || !index || *index <= position_.index) return;
  head_seen_ = std::max(head_seen_, *index);
  // Damaged objects are read, too, so that the report has the store's own message.
  const bool takes = manifest_.value().guarded && event.object.damage.empty();
  if (!takes || pushed_.size() >= kPushedMax) {
    look_ = true;
  } else {
    pushed_.emplace(*index, event.object.body);
  }
  if (busy_) return;
  drain_pushed();
  schedule();
}

void ReplicatedLog::Impl::drain_pushed() {
  while (!pushed_.empty()) {
    const auto first = pushed_.begin();
    if (first->first > next(position_.index)) {
      // One before it is missing: rounds read both, since this one is dropped here.
      pushed_.clear();
      look_ = true;
      return;
    }
    const auto node = pushed_.extract(first);
    if (node.key() == next(position_.index) && !apply(node.mapped(), Origin::kOther)) return;
  }
}

void ReplicatedLog::Impl::read_barrier(Callback<Index> done) {
  if (mode_ == Mode::kStopped || mode_ == Mode::kClosed) {
    return done({Errc::kUnavailable, "the log is not open"});
  }
  if (position_.seal) return done(moved());
  const MonoTime by = context_.loop.now() + context_.options.give_up_after;
  readers_.push_back({next_reader_++, by, std::move(done)});
  if (readers_.size() == 1) reader_timer_.arm(by, [this] { expire_readers(); });
  schedule();
}

void ReplicatedLog::Impl::answer_readers(std::uint64_t before) {
  std::vector<Reader> answered;
  while (!readers_.empty() && readers_.front().number < before) {
    answered.push_back(std::move(readers_.front()));
    readers_.pop_front();
  }
  if (readers_.empty()) reader_timer_.cancel();
  // Behind a seal the head shows nothing: what was acknowledged since is in another store.
  const Result<Index> answer = position_.seal ? Result<Index>(moved()) : position_.index;
  for (const Reader& reader : answered) reader.done(answer);
}

Error ReplicatedLog::Impl::moved() const {
  return {Errc::kUnavailable, "the log has moved to " + position_.seal->target};
}

void ReplicatedLog::Impl::expire_readers() {
  const MonoTime now = context_.loop.now();
  std::vector<Reader> expired;
  while (!readers_.empty() && readers_.front().by <= now) {
    expired.push_back(std::move(readers_.front()));
    readers_.pop_front();
  }
  if (!readers_.empty()) reader_timer_.arm(readers_.front().by, [this] { expire_readers(); });
  for (const Reader& reader : expired) {
    reader.done({Errc::kUnavailable, "the store did not show the head of the log in time"});
  }
}

}  // namespace muster::rlog
