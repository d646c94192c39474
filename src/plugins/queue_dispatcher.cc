#include "plugins/queue_dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "elector/settled_put.h"

namespace muster::queue {
namespace {

Status ends() {
  return {Errc::kCancelled, "the term ends"};
}

bool is_final(const ClaimRecord& record) {
  return record.state == ClaimState::kDone || record.state == ClaimState::kDead;
}

bool same(const Ticket& a, const Ticket& b) {
  return a.id == b.id && a.revision == b.revision && a.attempts == b.attempts;
}

}  // namespace

void Dispatcher::begin() {
  messages_.clear();
  claims_.clear();
  board_.reset();
}

Status Dispatcher::round(const LeaseGuard& guard) {
  changes_ = 0;
  // Messages first: what is listed here and has no claim afterwards has never been claimed.
  if (Status listed = list_messages(guard); !listed) return listed;
  if (Status listed = list_claims(guard); !listed) return listed;
  if (Status settled = settle(guard); !settled) return settled;
  return publish(guard, due());
}

Status Dispatcher::list_messages(const LeaseGuard& guard) {
  messages_.clear();
  std::string from;
  do {
    if (guard.stopping()) return ends();
    const Result<ListPage> page = store_.list(keys_.messages, from);
    if (!page) return page.error();
    for (const ListedObject& object : page->objects) {
      messages_.insert(object.key.substr(keys_.messages.size()));
    }
    from = page->next;
  } while (!from.empty() && messages_.size() < options_.window_max);
  all_listed_ = from.empty();
  return Done{};
}

Status Dispatcher::list_claims(const LeaseGuard& guard) {
  std::map<std::string, Known> still;
  std::vector<std::string> changed;
  std::string from;
  do {
    if (guard.stopping()) return ends();
    const Result<ListPage> page = store_.list(keys_.claims, from);
    if (!page) return page.error();
    for (const ListedObject& object : page->objects) {
      const std::string id = object.key.substr(keys_.claims.size());
      const auto known = claims_.find(id);
      if (known != claims_.end() && known->second.revision == object.revision) {
        still.insert(*known);
      } else {
        changed.push_back(id);
      }
    }
    from = page->next;
  } while (!from.empty());
  claims_ = std::move(still);
  for (const std::string& id : changed) {
    if (guard.stopping()) return ends();
    if (Status learned = learn(id); !learned) return learned;
  }
  return Done{};
}

Status Dispatcher::learn(const std::string& id) {
  const Result<Object> found = store_.get(keys_.claim(id));
  if (found.is(Errc::kNotFound)) return Done{};
  if (!found) return found.error();
  Result<ClaimRecord> record = decode_whole(*found, decode_claim);
  if (!record) {
    log_error("a claim of the queue is damaged; its message becomes a dead letter",
              {{"key", keys_.claim(id)}, {"error", record.error().message}});
    record = ClaimRecord{ClaimState::kClaimed,        "", "?", options_.attempts_max,
                         options_.visibility_timeout, {}, ""};
  }
  Known known{found->revision, *std::move(record), {}, false};
  // Counted from the reply, on this machine's clock: nobody's wall clock can shorten it.
  known.rest.observe(known.revision, rest_of(known.record), clock_.now());
  claims_.insert_or_assign(id, std::move(known));
  return Done{};
}

Duration Dispatcher::rest_of(const ClaimRecord& record) const {
  if (record.state == ClaimState::kClaimed) return record.visibility;
  if (record.state == ClaimState::kFailed) return options_.backoff_after(record.attempt);
  return options_.tombstone_retention;
}

std::vector<Ticket> Dispatcher::due() const {
  std::vector<Ticket> tickets;
  for (const std::string& id : messages_) {
    if (tickets.size() == options_.tickets_max) break;
    const auto known = claims_.find(id);
    if (known == claims_.end()) {
      tickets.push_back({id, {}, 0, {}});
      continue;
    }
    const auto& [revision, record, rest, gone] = known->second;
    if (is_final(record) || record.attempt >= options_.attempts_max) continue;
    if (rest.expired(clock_.now())) tickets.push_back({id, revision, record.attempt, {}});
  }
  return tickets;
}

Status Dispatcher::read_board() {
  const Result<Object> found = store_.get(keys_.dispatch);
  if (found.is(Errc::kNotFound)) {
    board_ = Board{};
    board_unchanged_ = Precondition::absent();
    return Done{};
  }
  if (!found) return found.error();
  Result<Board> board = decode_whole(*found, decode_board);
  if (!board) {
    log_error("the dispatch of the queue is damaged and will be replaced",
              {{"key", keys_.dispatch}, {"error", board.error().message}});
    board = Board{};
  }
  board_ = *std::move(board);
  board_unchanged_ = Precondition::at(found->revision);
  return Done{};
}

Status Dispatcher::publish(const LeaseGuard& guard, std::vector<Ticket> tickets) {
  if (!board_) {
    if (Status read = read_board(); !read) return read;
  }
  if (board_->epoch > guard.epoch()) {
    plugin_.count_epoch_drift();
    const std::string theirs = std::to_string(board_->epoch.value());
    board_.reset();
    return {Errc::kDenied,
            "epoch " + std::to_string(guard.epoch().value()) + " is behind " + theirs};
  }
  const bool equal = std::equal(tickets.begin(), tickets.end(), board_->tickets.begin(),
                                board_->tickets.end(), same);
  if (equal && (tickets.empty() || board_->epoch == guard.epoch())) return Done{};
  for (Ticket& ticket : tickets) {
    const auto old = std::find_if(board_->tickets.begin(), board_->tickets.end(),
                                  [&](const Ticket& other) { return same(ticket, other); });
    const bool kept = old != board_->tickets.end() && board_->epoch == guard.epoch();
    ticket.created_at = kept ? old->created_at : clock_.wall_now();
  }
  const Board next{guard.epoch(), std::move(tickets)};
  if (guard.stopping()) return ends();
  const Result<Revision> written =
      settled_put(store_, keys_.dispatch, encode(next, nonces_.next()), board_unchanged_);
  if (!written) {
    board_.reset();
    return written.error();
  }
  board_ = next;
  board_unchanged_ = Precondition::at(*written);
  return Done{};
}

}  // namespace muster::queue
