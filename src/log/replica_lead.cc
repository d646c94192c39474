// Leading: the barrier, group commit, and what an append's outcome means.
#include <utility>

#include "core/membership/wire.h"
#include "log/replica.h"

namespace muster::rlog {

void ReplicatedLog::Impl::lead(Epoch epoch, Incarnation incarnation, Callback<Done> done) {
  if (mode_ != Mode::kOpen) return done({Errc::kUnavailable, "the log is not open"});
  if (term_) return done({Errc::kInvalid, "a term is under way"});
  if (incarnation.value().empty() || incarnation.value().size() > membership::kTextBytesMax) {
    return done({Errc::kInvalid, "an incarnation has 1 to 1024 bytes"});
  }
  if (manifest_.value().guarded && !context_.store.capabilities().guarded_put) {
    return done({Errc::kUnsupported,
                 "this log is written in transactions, which the store at this address does not "
                 "support"});
  }
  if (!may_write(position_, epoch, incarnation)) {
    const std::string why = position_.seal
                                ? "the log is sealed: it has moved to " + position_.seal->target
                                : "the log is at a later epoch";
    return done({Errc::kConflict, why});
  }
  Term term;
  term.epoch = epoch;
  term.incarnation = std::move(incarnation);
  term.on_lead = std::move(done);
  term_ = std::move(term);
  // A leader must not go on on a store that went back in time.
  anchor_due_ = true;
  schedule();
}

void ReplicatedLog::Impl::append(std::string command, Callback<Ack> done) {
  if (!leads()) return done({Errc::kUnavailable, "this replica does not lead"});
  if (command.size() + kCommandOverhead + kEntryOverheadMax > context_.options.entry_bytes_max) {
    return done({Errc::kInvalid, "the command is longer than an entry may be"});
  }
  if (sealing_) return done({Errc::kUnavailable, "the log is being sealed"});
  if (waiting_bytes_ + command.size() > context_.options.waiting_bytes_max) {
    return done({Errc::kThrottled, "too many commands are waiting"});
  }
  waiting_bytes_ += command.size();
  waiting_.push_back({std::move(command), std::move(done)});
  schedule();
}

void ReplicatedLog::Impl::seal(Seal seal, Callback<Index> done) {
  if (!leads() || sealing_) return done({Errc::kUnavailable, "this replica does not lead"});
  if (seal.move_id.empty() || seal.move_id.size() > membership::kTextBytesMax ||
      seal.target.size() > membership::kTextBytesMax) {
    return done({Errc::kInvalid, "a seal's move id has 1 to 1024 bytes, its target at most 1024"});
  }
  sealing_ = Sealing{std::move(seal), std::move(done), false};
  schedule();
}

void ReplicatedLog::Impl::retire(Callback<Done> done) {
  if (!term_) return done(Done{});
  term_->retiring = true;
  term_->on_retired.push_back(std::move(done));
  refuse_waiting("this replica stops leading");
  if (!busy_) end_term_if_retiring();
}

void ReplicatedLog::Impl::end_term_if_retiring() {
  if (!term_ || !term_->retiring || append_) return;
  Term term = std::move(*term_);
  term_.reset();
  if (term.on_lead) term.on_lead({Errc::kCancelled, "retired before the term began"});
  for (const Callback<Done>& done : term.on_retired) done(Done{});
}

void ReplicatedLog::Impl::refuse_waiting(const std::string& why) {
  waiting_bytes_ = 0;
  const auto waiting = std::exchange(waiting_, {});
  for (const Waiting& one : waiting) one.done({Errc::kUnavailable, why});
  // A seal in flight is answered by its outcome.
  if (sealing_ && !(append_ && sealing_->sent)) {
    const auto sealing = std::exchange(sealing_, {});
    sealing->done({Errc::kUnavailable, why});
  }
}

void ReplicatedLog::Impl::take_batch(std::vector<std::string>& commands) {
  std::size_t bytes = kEntryOverheadMax;
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    bytes += first.command.size() + kCommandOverhead;
    if (bytes > context_.options.entry_bytes_max) return;
    waiting_bytes_ -= first.command.size();
    commands.push_back(std::move(first.command));
    in_flight_.push_back(std::move(first.done));
    waiting_.pop_front();
  }
}

void ReplicatedLog::Impl::start_append() {
  // lead() begins no term that may not write, and each way by which position_ moves on ends the
  // term when it may not write any more: applying another's entry, a seal, and loading a snapshot.
  // So no content of a store leads here.
  MUSTER_CHECK(may_write(position_, term_->epoch, term_->incarnation));
  busy_ = true;
  EntryHeader header;
  header.index = next(position_.index);
  header.epoch = term_->epoch;
  header.incarnation = term_->incarnation;
  header.nonce = Nonce(context_.random.uuid());
  append_began_ = context_.loop.now();
  // The barrier may have to follow an entry of the term before that came late.
  if (!term_->confirmed) term_->clock.emplace(position_.time, append_began_);
  header.time = term_->clock->read(append_began_);
  header.wall = context_.loop.wall_now();
  header.previous = position_.chain;
  std::vector<std::string> commands;
  std::optional<Seal> seal;
  if (!term_->confirmed) {
    header.kind = EntryKind::kBarrier;
  } else if (!waiting_.empty()) {
    take_batch(commands);
  } else {
    header.kind = EntryKind::kSeal;
    seal = sealing_->seal;
    sealing_->sent = true;
  }
  if (!unanswered_since_) unanswered_since_ = append_began_;
  append_trouble_.clear();
  readers_before_append_ = next_reader_;
  append_.emplace(
      header.index, encode_entry(header, commands, seal),
      Append::Terms{manifest_.value().guarded, append_began_ + context_.options.give_up_after,
                    context_.options.retry_wait});
  perform(append_->begin());
}

void ReplicatedLog::Impl::perform(Append::Step step) {
  if (step.wait > 0s) {
    const Duration wait = std::exchange(step.wait, Duration(0));
    return step_timer_.arm(wait,
                           [this, step = std::move(step)]() mutable { perform(std::move(step)); });
  }
  if (std::holds_alternative<Append::Put>(step.next)) return put();
  if (std::holds_alternative<Append::ReadEntry>(step.next)) {
    return context_.get(
        context_.keys.entry(append_->number()), {}, lifetime_.wrap([this](Result<Object> object) {
          if (!append_) return;
          Result<std::string> body = object ? Result<std::string>(std::move(object->body))
                                            : Result<std::string>(object.error());
          perform(append_->entry_read(std::move(body), context_.loop.now()));
        }));
  }
  if (std::holds_alternative<Append::ReadManifest>(step.next)) {
    return manifest_.refresh(lifetime_.wrap([this](const Status& read) {
      if (!append_) return;
      if (!read && !is_passing(read.code())) return stop(read.error());
      const Result<Index> floor =
          read ? Result<Index>(manifest_.value().floor) : Result<Index>(read.error());
      perform(append_->manifest_read(floor, context_.loop.now()));
    }));
  }
  if (std::holds_alternative<Append::Own>(step.next)) return settled_own();
  if (auto* other = std::get_if<Append::Other>(&step.next)) return settled_other(other->body);
  settled_unknown(std::get<Append::Unknown>(step.next).compacted);
}

void ReplicatedLog::Impl::put() {
  const auto answered = lifetime_.wrap([this](const Result<Revision>& written) {
    if (!append_) return;
    const Status answer = written ? Status(Done{}) : Status(written.error());
    append_trouble_ = written ? "" : written.error().message;
    perform(append_->put_answered(answer, context_.loop.now()));
  });
  const Key key = context_.keys.entry(append_->number());
  if (!manifest_.value().guarded) {
    return context_.store.put(key, append_->body(), Precondition::absent(), context_.by(),
                              answered);
  }
  // The manifest as known must have its floor below the number, and be the one that stands when
  // the number is created (L4). What is known may be newer than what was applied.
  if (manifest_.value().floor >= append_->number()) {
    return perform(append_->manifest_read(manifest_.value().floor, context_.loop.now()));
  }
  const Guard guard{context_.keys.manifest(), Precondition::at(manifest_.revision())};
  context_.store.guarded_put(key, append_->body(), Precondition::absent(), guard, context_.by(),
                             answered);
}

void ReplicatedLog::Impl::settled_own() {
  const Append append = std::move(*append_);
  append_.reset();
  Verdict verdict = Verdict::kVoid;
  if (!apply(append.body(), Origin::kOwn, &verdict)) return;
  const auto acks = std::exchange(in_flight_, {});
  if (verdict == Verdict::kVoid) {
    for (const Callback<Ack>& ack : acks) ack({Errc::kConflict, "the entry is void"});
    depose("an entry of this term is void");
    return idle();
  }
  // That the number was free when it was taken shows the head, as a round would (L7).
  last_contact_ = append_began_;
  std::size_t place = 0;
  for (const Callback<Ack>& ack : acks) ack(Ack{append.number(), place++});
  answer_readers(readers_before_append_);
  if (term_ && !std::exchange(term_->confirmed, true)) {
    if (const auto done = std::exchange(term_->on_lead, nullptr)) done(Done{});
  } else if (sealing_ && sealing_->sent) {
    const auto sealing = std::exchange(sealing_, {});
    sealing->done(append.number());
    depose("the log is sealed");
  }
  compact_if_due();
  idle();
}

void ReplicatedLog::Impl::settled_other(const std::string& body) {
  append_.reset();
  if (!apply(body, Origin::kOther)) return;
  answer_in_flight({Errc::kConflict, "another leader's entry took the number"});
  idle();
}

void ReplicatedLog::Impl::settled_unknown(bool compacted) {
  append_.reset();
  const std::string why = append_trouble_.empty() ? "" : ": " + append_trouble_;
  answer_in_flight(
      {Errc::kAmbiguous, "the command may have been applied, or may be applied later" + why});
  depose(compacted ? "the number was compacted meanwhile" : "an append could not be settled" + why,
         Errc::kAmbiguous);
  if (compacted) return load_snapshot();
  look_ = true;
  idle();
}

void ReplicatedLog::Impl::answer_in_flight(const Error& error) {
  const auto waiting = std::exchange(in_flight_, {});
  for (const Callback<Ack>& done : waiting) done(error);
  if (!sealing_ || !sealing_->sent) return;
  const auto sealing = std::exchange(sealing_, {});
  sealing->done(error);
}

}  // namespace muster::rlog
