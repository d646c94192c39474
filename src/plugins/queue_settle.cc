// How the leader ends what is over: buries, clears, sweeps.

#include "base/log.h"
#include "elector/settled_put.h"
#include "plugins/queue_dispatcher.h"

namespace muster::queue {
namespace {

/// Of what is no message; escaped, it is several times as long.
constexpr std::size_t kDamagedBytesMax = 32 * 1024;

}  // namespace

Status Dispatcher::settle(const LeaseGuard& guard) {
  for (auto it = claims_.begin(); it != claims_.end();) {
    if (changes_ >= options_.changes_max) return Done{};
    if (guard.stopping()) return {Errc::kCancelled, "the term ends"};
    auto& [id, known] = *it;
    if (const Status settled = settle_one(guard, id, known); settled.is(Errc::kInvalid)) {
      // About this one alone: it must not hold up the others.
      log_error("a message of the queue cannot be settled",
                {{"key", keys_.claim(id)}, {"error", settled.error().message}});
    } else if (!settled) {
      return settled;
    }
    const bool final_ =
        known.record.state == ClaimState::kDone || known.record.state == ClaimState::kDead;
    if (!final_ || !known.message_gone || !known.rest.expired(clock_.now())) {
      ++it;
      continue;
    }
    if (Status swept = sweep(id, known); !swept) return swept;
    it = claims_.erase(it);
  }
  return Done{};
}

Status Dispatcher::settle_one(const LeaseGuard& guard, const std::string& id, Known& known) {
  const ClaimRecord& record = known.record;
  const bool rested = known.rest.expired(clock_.now());
  const bool last = record.attempt >= options_.attempts_max;
  // A worker that took an old ticket and died before it found that there is no message.
  const bool orphan = rested && all_listed_ && !messages_.contains(id);
  switch (record.state) {
    case ClaimState::kClaimed:
      if (orphan) return end(guard, id, known, ClaimState::kDone, "no message");
      if (!rested || !last) return Done{};
      return end(guard, id, known, ClaimState::kDead, "the claim of " + record.worker + " ran out");
    case ClaimState::kFailed:
      if (orphan) return end(guard, id, known, ClaimState::kDone, "no message");
      if (!last) return Done{};
      return end(guard, id, known, ClaimState::kDead, record.reason);
    case ClaimState::kDone:
    case ClaimState::kDead:
      return clear(id, known);
  }
  return Done{};
}

Status Dispatcher::end(const LeaseGuard& guard, const std::string& id, Known& known,
                       ClaimState state, const std::string& reason) {
  ++changes_;
  ClaimRecord record = known.record;
  record.state = state;
  record.reason = reason;
  record.epoch = guard.epoch();
  const Result<Revision> written = settled_put(
      store_, keys_.claim(id), encode(record, nonces_.next()), Precondition::at(known.revision));
  // Its worker was faster: the next round sees what it did.
  if (written.is(Errc::kConflict)) return Done{};
  if (!written) return written.error();
  known.revision = *written;
  known.record = std::move(record);
  known.rest.observe(known.revision, rest_of(known.record), clock_.now());
  return Done{};
}

Status Dispatcher::bury(const std::string& id, const Known& known) {
  const Result<Object> found = store_.get(keys_.message(id));
  if (found.is(Errc::kNotFound)) return Done{};
  if (!found) return found.error();
  const Result<Message> message = decode_whole(*found, decode_message);
  // What cannot be read is kept as it is, for people.
  const DeadLetter letter{
      message ? *message : Message{id, found->body.substr(0, kDamagedBytesMax), {}},
      known.record.attempt,
      known.record.reason,
      clock_.wall_now(),
      {}};
  const Result<bool> written = write_letter(keys_.dead_letter(id), letter);
  if (!written) return written.error();
  if (*written) return Done{};
  // Another message had this id before, and lies there still.
  const std::string name = id + "-" + std::to_string(to_ms(letter.message.enqueued_at));
  const Result<bool> beside = write_letter(keys_.dead_letter(name), letter);
  return beside ? Status(Done{}) : Status(beside.error());
}

/// False when the letter of another message is there.
Result<bool> Dispatcher::write_letter(const Key& key, const DeadLetter& letter) {
  const Result<Revision> written =
      settled_put(store_, key, encode(letter, nonces_.next()), Precondition::absent());
  if (written) return true;
  if (!written.is(Errc::kConflict)) return written.error();
  const Result<Object> found = store_.get(key);
  if (!found) return found.error();
  const Result<DeadLetter> earlier = decode_whole(*found, decode_dead_letter);
  // Of the same message it is from an earlier try at this.
  return earlier && earlier->message.payload == letter.message.payload &&
         earlier->message.enqueued_at == letter.message.enqueued_at;
}

Status Dispatcher::clear(const std::string& id, Known& known) {
  if (known.message_gone && !messages_.contains(id)) return Done{};
  ++changes_;
  if (known.record.state == ClaimState::kDead) {
    if (Status buried = bury(id, known); !buried) return buried;
  }
  // Without a condition: messages are never rewritten, and after a final claim none may run.
  const Status removed = store_.remove(keys_.message(id));
  if (!removed && !removed.is(Errc::kNotFound)) return removed;
  messages_.erase(id);
  known.message_gone = true;
  return Done{};
}

Status Dispatcher::sweep(const std::string& id, const Known& known) {
  ++changes_;
  // A final claim is never written again, so there is nothing newer that this could destroy; where
  // the store can make sure, it does.
  const bool can = store_.capabilities().conditional_remove;
  const Status removed =
      store_.remove(keys_.claim(id), can ? std::optional(known.revision) : std::nullopt);
  if (removed || removed.is(Errc::kNotFound) || removed.is(Errc::kConflict)) return Done{};
  return removed;
}

}  // namespace muster::queue
