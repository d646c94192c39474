#include "plugins/queue_claimer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "elector/settled_put.h"

namespace muster::queue {

Claimer::Claimer(SyncStore& store, const Clock& clock, Nonces& nonces, const QueueOptions& options,
                 const Keys& keys, WorkerId worker, CoordinatorPlugin& fence)
    : store_(store),
      clock_(clock),
      nonces_(nonces),
      options_(options),
      keys_(keys),
      worker_(std::move(worker)),
      fence_(fence) {}

Status Claimer::refresh() {
  std::optional<Revision> known;
  {
    MutexLock lock(mutex_);
    known = seen_.revision;
  }
  const Result<Object> found = store_.get(keys_.dispatch, known);
  if (found.is(Errc::kUnchanged) || found.is(Errc::kNotFound)) return Done{};
  if (!found) return found.error();
  Result<Board> board = decode_whole(*found, decode_board);
  if (!board) return board.error();
  MutexLock lock(mutex_);
  if (seen_.revision != found->revision) seen_ = {found->revision, *std::move(board), {}};
  return Done{};
}

std::optional<std::pair<Ticket, Epoch>> Claimer::next_ticket() {
  MutexLock lock(mutex_);
  const auto& tickets = seen_.board.tickets;
  if (tickets.empty()) return {};
  // Workers begin at different tickets, so that few of them meet.
  const std::size_t start = nonces_.below(tickets.size());
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const Ticket& ticket = tickets[(start + i) % tickets.size()];
    if (seen_.tried.insert(ticket.id).second) return std::pair(ticket, seen_.board.epoch);
  }
  return {};
}

void Claimer::put_back(const Ticket& ticket) {
  MutexLock lock(mutex_);
  seen_.tried.erase(ticket.id);
}

void Claimer::give_back_unrun() {
  std::vector<Unrun> unrun;
  {
    MutexLock lock(mutex_);
    unrun.swap(unrun_);
  }
  std::vector<Unrun> left;
  bool failing = false;
  for (Unrun& one : unrun) {
    // One failure is enough: the store will fail for the others, too, and each would be waited for.
    const Result<bool> settled = failing ? Result<bool>(false) : give_back(one);
    failing = failing || !settled;
    if (!settled || !*settled) left.push_back(std::move(one));
  }
  if (left.empty()) return;
  MutexLock lock(mutex_);
  std::move(left.begin(), left.end(), std::back_inserter(unrun_));
}

Result<bool> Claimer::give_back(const Unrun& unrun) {
  const Key key = keys_.claim(unrun.ticket.id);
  const Result<Object> found = store_.get(key);
  if (!found && !found.is(Errc::kNotFound)) return found.error();
  const std::optional<Revision> stands = found ? std::optional(found->revision) : std::nullopt;
  // As the ticket found it: the claim has not landed. No write arrives later than tombstones stay.
  if (stands == unrun.ticket.revision) {
    return clock_.now() - unrun.sent >= options_.tombstone_retention;
  }
  if (!found) return true;
  const Result<ClaimRecord> current = decode_whole(*found, decode_claim);
  const bool ours =
      current && current->state == ClaimState::kClaimed && current->claim == unrun.record.claim;
  if (!ours) return true;
  ClaimRecord record = unrun.record;
  record.state = ClaimState::kFailed;
  record.attempt = unrun.ticket.attempts;
  record.reason = "not run: " + unrun.reason;
  const Result<Revision> written =
      settled_put(store_, key, encode(record, nonces_.next()), Precondition::at(found->revision));
  if (!written && !written.is(Errc::kConflict)) return written.error();
  return true;
}

Result<std::optional<QueueClaim>> Claimer::claim() {
  give_back_unrun();
  if (Status fresh = refresh(); !fresh) return fresh.error();
  while (const auto next = next_ticket()) {
    const auto& [ticket, epoch] = *next;
    // A replaced leader's tickets stay where they are; its successor publishes them anew.
    if (!fence_.is_epoch_valid(epoch, ticket.created_at)) continue;
    Result<std::optional<QueueClaim>> taken = take(ticket, epoch);
    if (!taken) {
      put_back(ticket);
      return taken;
    }
    if (*taken) return taken;
  }
  return std::optional<QueueClaim>();
}

Result<std::optional<QueueClaim>> Claimer::take(const Ticket& ticket, Epoch epoch) {
  QueueClaim claim;
  claim.record_ = {ClaimState::kClaimed,
                   nonces_.next(),
                   worker_.value(),
                   ticket.attempts + 1,
                   options_.visibility_timeout,
                   epoch,
                   ""};
  const MonoTime sent = clock_.now();
  // Exactly where the leader saw it: an extension since, or another claim, is a conflict.
  const Result<Revision> written =
      settled_put(store_, keys_.claim(ticket.id), encode(claim.record_, nonces_.next()),
                  ticket.revision ? Precondition::at(*ticket.revision) : Precondition::absent());
  if (written.is(Errc::kConflict)) return std::optional<QueueClaim>();
  const auto not_run = [&](const std::string& reason) {
    {
      MutexLock lock(mutex_);
      unrun_.push_back({ticket, claim.record_, sent, reason});
    }
    give_back_unrun();
  };
  if (!written) {
    not_run(written.error().message);
    return written.error();
  }
  claim.revision_ = *written;
  claim.message_.id = ticket.id;
  claim.guard_ = std::make_shared<ClaimGuard>(clock_, epoch, terms().deadline(sent));

  const Result<Object> found = store_.get(keys_.message(ticket.id));
  if (found.is(Errc::kNotFound)) {
    // An old ticket of a message that is finished and swept: nothing is left to run.
    if (Status ended = finish(claim, ClaimState::kDone, "no message"); !ended) {
      return ended.error();
    }
    return std::optional<QueueClaim>();
  }
  if (!found) {
    not_run(found.error().message);
    return found.error();
  }
  Result<Message> message = decode_whole(*found, decode_message);
  if (!message) {
    if (Status failed = fail(claim, message.error().message); !failed) return failed.error();
    return message.error();
  }
  claim.message_ = *std::move(message);
  if (!claim.guard_->valid()) {
    not_run("the store was too slow");
    return std::optional<QueueClaim>();
  }
  return std::optional(std::move(claim));
}

Status Claimer::write(QueueClaim& claim, const ClaimRecord& record) {
  constexpr int kAttemptsMax = 3;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const Result<Revision> written =
        settled_put(store_, keys_.claim(claim.id()), encode(record, nonces_.next()),
                    Precondition::at(claim.revision_));
    if (written) {
      claim.revision_ = *written;
      claim.record_ = record;
      return Done{};
    }
    if (!written.is(Errc::kConflict)) return written.error();
    // An extension that was given up may have landed since: then the claim is still this one.
    const Result<Object> found = store_.get(keys_.claim(claim.id()));
    if (!found && !found.is(Errc::kNotFound)) return found.error();
    if (!found) break;
    const Result<ClaimRecord> current = decode_whole(*found, decode_claim);
    if (!current || current->claim != claim.record_.claim) break;
    if (current->state == record.state && record.state != ClaimState::kClaimed) return Done{};
    if (current->state != ClaimState::kClaimed) break;
    claim.revision_ = found->revision;
  }
  claim.guard_->close();
  return {Errc::kConflict, "the claim of " + claim.id() + " is lost; another worker may run it"};
}

Status Claimer::extend(QueueClaim& claim) {
  const Error too_late{Errc::kConflict, "the claim of " + claim.id() + " has expired"};
  if (!claim.guard_->valid()) return too_late;
  const MonoTime sent = clock_.now();
  if (Status written = write(claim, claim.record_); !written) return written;
  // An expired claim stays expired, even when the extension landed.
  if (!claim.guard_->valid()) {
    claim.guard_->close();
    return too_late;
  }
  claim.guard_->extend(terms().deadline(sent));
  return Done{};
}

Status Claimer::finish(QueueClaim& claim, ClaimState state, const std::string& reason) {
  // Also after the guard expired: while the claim's object is unchanged nobody else has begun.
  ClaimRecord record = claim.record_;
  record.state = state;
  record.reason = reason;
  claim.guard_->close();
  return write(claim, record);
}

Status Claimer::acknowledge(QueueClaim& claim) {
  return finish(claim, ClaimState::kDone, "");
}

Status Claimer::fail(QueueClaim& claim, const std::string& reason) {
  return finish(claim, ClaimState::kFailed, reason);
}

}  // namespace muster::queue
