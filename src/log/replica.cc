#include "log/replica.h"

#include <utility>

namespace muster::rlog {

ReplicatedLog::Impl::Impl(Options options, Surroundings surroundings)
    : context_{std::move(options), surroundings.loop, surroundings.store, surroundings.random, {}},
      machine_(surroundings.machine),
      listener_(std::move(surroundings.listener)),
      manifest_(context_),
      compactor_(context_, manifest_),
      look_timer_(context_.loop),
      step_timer_(context_.loop),
      reader_timer_(context_.loop) {
  context_.keys.prefix = context_.options.prefix;
}

// Posted, so that everything appended in one turn of the loop goes into one entry.
void ReplicatedLog::Impl::schedule() {
  if (std::exchange(scheduled_, true)) return;
  context_.loop.post(lifetime_.wrap([this] {
    scheduled_ = false;
    proceed();
  }));
}

void ReplicatedLog::Impl::proceed() {
  if (busy_ || (mode_ != Mode::kOpening && mode_ != Mode::kOpen)) return;
  drain_pushed();
  if (mode_ == Mode::kStopped) return;
  const bool may_look = context_.loop.now() >= round_not_before_;
  const bool barrier_due = term_ && !term_->confirmed && !term_->retiring;
  const bool to_write = term_ && term_->caught_up && (barrier_due || sealing_ || !waiting_.empty());
  // A leader that is never idle must not go on for ever on a store that went back in time.
  if (to_write && !(anchor_overdue() && may_look)) return start_append();
  if (!may_look) return;  // The timer for that is armed.
  if (look_ || !readers_.empty() || to_write || (term_ && !term_->caught_up)) start_round();
}

void ReplicatedLog::Impl::idle() {
  busy_ = false;
  end_term_if_retiring();
  schedule();
}

bool ReplicatedLog::Impl::apply(std::string_view body, Origin origin, Verdict* verdict_out) {
  const std::string key = context_.keys.entry(next(position_.index));
  const bool own = origin == Origin::kOwn;
  unanswered_since_.reset();
  const Result<Entry> entry = own ? decode_own_entry(body) : decode_entry(body);
  if (!entry) return stop(named(key, entry.error())), false;
  const Result<Verdict> verdict = judge(position_, *entry);
  if (!verdict) return stop(named(key, verdict.error())), false;
  advance(position_, *entry, *verdict);
  if (verdict_out) *verdict_out = *verdict;
  if (*verdict == Verdict::kVoid) return true;

  lift_own_seal(position_, manifest_.value());
  bytes_since_snapshot_ += body.size();
  const EntryHeader& header = entry->header;
  const Status applied =
      machine_.apply({header.index, header.epoch, header.incarnation, position_.time, header.wall,
                      header.kind, entry->commands});
  if (!applied) return stop(named(key, applied.error())), false;
  if (position_.seal) tell(Sealed{*position_.seal});
  if (!own && term_ && !may_write(position_, term_->epoch, term_->incarnation)) {
    depose("entry " + std::to_string(header.index.value()) + " is another leader's");
  }
  return true;
}

void ReplicatedLog::Impl::depose(const std::string& reason, Errc to_lead) {
  if (!term_) return;
  Term term = std::move(*term_);
  term_.reset();
  const Epoch by = position_.epoch > term.epoch ? position_.epoch : Epoch();
  refuse_waiting("the term is over: " + reason);
  if (term.on_lead) term.on_lead({to_lead, reason});
  for (const Callback<Done>& done : term.on_retired) done(Done{});
  tell(Deposed{term.epoch, by, reason});
}

void ReplicatedLog::Impl::stop(Error reason) {
  if (mode_ == Mode::kStopped) return;
  mode_ = Mode::kStopped;
  busy_ = true;
  watch_.reset();
  look_timer_.cancel();
  step_timer_.cancel();
  reader_timer_.cancel();
  append_.reset();
  const Error gone{Errc::kUnavailable, "this replica has stopped: " + reason.message};
  answer_in_flight({Errc::kAmbiguous, gone.message});
  depose(reason.message);
  for (const Reader& reader : std::exchange(readers_, {})) reader.done(gone);
  if (const auto done = std::exchange(on_open_, nullptr)) done(reason);
  tell(Stopped{std::move(reason)});
}

// Posted, so that no listener finds the replica in the middle of a step.
void ReplicatedLog::Impl::tell(Event event) {
  if (!listener_) return;
  context_.loop.post(lifetime_.wrap([this, event = std::move(event)] { listener_(event); }));
}

void ReplicatedLog::Impl::compact(Callback<Index> done) {
  if (mode_ != Mode::kOpen) return done({Errc::kUnavailable, "the log is not open"});
  if (compactor_.running()) return done({Errc::kUnavailable, "a compaction is under way"});
  const auto& latest = manifest_.value().latest;
  if (position_.index == Index() || (latest && latest->position.index >= position_.index)) {
    return done({Errc::kConflict, "there is nothing to compact"});
  }
  compactor_.start(position_, machine_.snapshot(),
                   [this, done = std::move(done)](Result<Compacted> compacted) {
                     if (!compacted) return done(compacted.error());
                     tell(*compacted);
                     done(compacted->index);
                   });
}

void ReplicatedLog::Impl::compact_if_due() {
  if (!leads() || compactor_.running() || context_.loop.now() < compact_not_before_) return;
  const auto& latest = manifest_.value().latest;
  const Index base = latest ? latest->position.index : Index();
  const std::uint64_t entries = position_.index.value() - base.value();
  if (entries < context_.options.compact_after_entries &&
      bytes_since_snapshot_ < context_.options.compact_after_bytes) {
    return;
  }
  bytes_since_snapshot_ = 0;
  // One that fails is tried again, but not with every entry.
  compact_not_before_ = context_.loop.now() + context_.options.give_up_after;
  compact([this](const Result<Index>& compacted) {
    // Another replica's snapshot serves as well.
    if (compacted || compacted.is(Errc::kConflict)) return;
    tell(CompactionFailed{compacted.error()});
  });
}

}  // namespace muster::rlog
