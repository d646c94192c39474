#include "plugins/counters.h"

#include <utility>

#include "core/election/records.h"
#include "elector/settled_put.h"

namespace muster {
namespace {

using counters::Total;

constexpr int kReadAttemptsMax = 8;

}  // namespace

Counters::Counters(SyncStore& store, const Clock& clock, Random random, CounterOptions options)
    : store_(store),
      clock_(clock),
      nonces_(random),
      options_(std::move(options)),
      keys_(options_.name_space) {}

Counters::Lane Counters::take_lane(const std::string& counter) {
  MutexLock lock(lanes_mutex_);
  std::vector<Lane>& free = lanes_[counter];
  while (!free.empty()) {
    Lane lane = std::move(free.back());
    free.pop_back();
    if (clock_.now() - lane.used < options_.lane_retention / 2) return lane;
  }
  return {nonces_.next(), 1, clock_.now()};
}

void Counters::return_lane(const std::string& counter, Lane lane) {
  MutexLock lock(lanes_mutex_);
  lanes_[counter].push_back(std::move(lane));
}

Status Counters::add(const std::string& counter, std::int64_t amount) {
  if (Status valid = validate_name("counter", counter); !valid) return valid;
  if (amount == 0) return Done{};
  Lane lane = take_lane(counter);
  const Key key = keys_.delta({counter, lane.id, lane.number, amount});
  const MonoTime sent = clock_.now();
  const std::string body = "{\"createdAt\":" + std::to_string(to_ms(clock_.wall_now())) +
                           ",\"nonce\":\"" + nonces_.next() + "\"}";
  const Result<Revision> written = settled_put(store_, key, body, Precondition::absent());
  if (written) {
    return_lane(counter, {lane.id, lane.number + 1, sent});
    return Done{};
  }
  // A lane ends with its first failure. The add may be there yet, sent twice by a proxy on the way
  // and refused the second time: the next one would have its number, and be taken for a copy.
  return written.error();
}

Result<Counters::FoundTotal> Counters::find(const std::string& counter) {
  const Result<Object> found = store_.get(keys_.total(counter));
  if (found.is(Errc::kNotFound)) return FoundTotal{{}, Precondition::absent()};
  if (!found) return found.error();
  Result<Total> total = decode_whole(*found, counters::decode_total);
  if (!total) return total.error();
  return FoundTotal{*std::move(total), Precondition::at(found->revision)};
}

Result<std::int64_t> Counters::consolidated(const std::string& counter) {
  if (Status valid = validate_name("counter", counter); !valid) return valid.error();
  const Result<FoundTotal> found = find(counter);
  if (!found) return found.error();
  return found->total.value;
}

Result<std::int64_t> Counters::read(const std::string& counter) {
  if (Status valid = validate_name("counter", counter); !valid) return valid.error();
  for (int attempt = 0; attempt < kReadAttemptsMax; ++attempt) {
    const Result<FoundTotal> found = find(counter);
    if (!found) return found.error();
    const Result<ListPage> page = store_.list_all(keys_.deltas_of(counter));
    if (!page) return page.error();
    std::int64_t sum = found->total.value;
    for (const ListedObject& object : page->objects) {
      const auto delta = keys_.delta_of(object.key);
      if (!delta || delta->number <= found->total.folded(delta->lane)) continue;
      if (__builtin_add_overflow(sum, delta->amount, &sum)) {
        return {Errc::kInvalid, "counter " + counter + " exceeds the range of 64 bits"};
      }
    }
    // Adds are removed only after the total has changed: while it has not, none was missed.
    const Result<Object> again = store_.get(keys_.total(counter), found->unchanged.revision);
    const bool was_absent = found->unchanged.kind == Precondition::Kind::kAbsent;
    if (again.is(was_absent ? Errc::kNotFound : Errc::kUnchanged)) return sum;
    if (!again && !again.is(Errc::kNotFound)) return again.error();
  }
  return {Errc::kUnavailable, "counter " + counter + " is being folded; try again"};
}

}  // namespace muster
