#include "plugins/queue.h"

#include <exception>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "core/election/records.h"
#include "elector/settled_put.h"
#include "plugins/record_json.h"

namespace muster {
namespace {

Status run(const Queue::Handler& handler, QueueClaim& claim) {
  try {
    return handler(claim);
  } catch (const std::exception& thrown) {
    return {Errc::kInvalid, std::string("the handler threw: ") + thrown.what()};
  } catch (...) {
    return {Errc::kInvalid, "the handler threw"};
  }
}

}  // namespace

Queue::Queue(SyncStore& store, const Clock& clock, Random random, WorkerId worker,
             QueueOptions options)
    : store_(store),
      clock_(clock),
      nonces_(random),
      options_(std::move(options)),
      keys_(options_.name_space, options_.queue),
      dispatcher_(store_, clock_, nonces_, options_, keys_, *this),
      claimer_(store_, clock_, nonces_, options_, keys_, std::move(worker), *this) {}

void Queue::on_become_coordinator(const LeaseGuard&) {
  dispatcher_.begin();
}

void Queue::coordinator_work(const LeaseGuard& guard) {
  const Status done = dispatcher_.round(guard);
  if (done || guard.stopping()) return;
  log_warn("a round of the queue was cut short", {{"namespace", options_.name_space},
                                                  {"queue", options_.queue},
                                                  {"epoch", std::to_string(guard.epoch().value())},
                                                  {"error", done.error().message}});
}

std::string Queue::new_id() {
  constexpr std::size_t kDigits = 13;
  std::string time = std::to_string(to_ms(clock_.wall_now()));
  if (time.size() < kDigits) time.insert(0, kDigits - time.size(), '0');
  return time + "-" + nonces_.next();
}

Result<std::string> Queue::enqueue(std::string payload, std::string id) {
  if (id.empty()) id = new_id();
  if (Status valid = validate_name("message id", id); !valid) return valid.error();
  // JSON holds text only; bytes that are none would come back changed.
  if (!is_utf8(payload)) return {Errc::kInvalid, "the payload is not UTF-8; encode it first"};
  const queue::Message message{id, std::move(payload), clock_.wall_now()};
  const Key key = keys_.message(id);
  const Result<Revision> written =
      settled_put(store_, key, encode(message, nonces_.next()), Precondition::absent());
  if (written) return id;
  if (!written.is(Errc::kConflict)) return written.error();
  // The id was enqueued before: the same message again is the same message.
  const Result<Object> found = store_.get(key);
  if (found.is(Errc::kNotFound)) return id;
  if (!found) return found.error();
  const Result<queue::Message> earlier = decode_whole(*found, queue::decode_message);
  if (!earlier) return Error{earlier.code(), key + ": " + earlier.error().message};
  if (earlier->payload == message.payload) return id;
  return {Errc::kConflict, "the id " + id + " belongs to another message"};
}

Result<bool> Queue::run_one(const Handler& handler) {
  Result<std::optional<QueueClaim>> claimed = claim();
  if (!claimed) return claimed.error();
  if (!*claimed) return false;
  QueueClaim& work = **claimed;
  const Status ran = run(handler, work);
  const Status ended = ran ? acknowledge(work) : fail(work, ran.error().message);
  if (!ended) return ended.error();
  return true;
}

Result<std::vector<queue::DeadLetter>> Queue::dead_letters() {
  const Result<ListPage> page = store_.list_all(keys_.dead);
  if (!page) return page.error();
  std::vector<queue::DeadLetter> letters;
  for (const ListedObject& object : page->objects) {
    const Result<Object> found = store_.get(object.key);
    if (found.is(Errc::kNotFound)) continue;
    if (!found) return found.error();
    Result<queue::DeadLetter> letter = decode_whole(*found, queue::decode_dead_letter);
    if (!letter) return Error{letter.code(), object.key + ": " + letter.error().message};
    letter->name = object.key.substr(keys_.dead.size());
    letters.push_back(*std::move(letter));
  }
  return letters;
}

Status Queue::discard(const queue::DeadLetter& letter) {
  const Status removed = store_.remove(keys_.dead_letter(letter.name));
  return removed.is(Errc::kNotFound) ? Status(Done{}) : removed;
}

}  // namespace muster
