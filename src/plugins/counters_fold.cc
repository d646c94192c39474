// The leader's part of the counters.

#include "base/log.h"
#include "elector/settled_put.h"
#include "plugins/counters.h"

namespace muster {

using counters::Total;

void Counters::on_become_coordinator(const LeaseGuard&) {
  // What an earlier term saw says nothing about how long a lane has been silent since.
  cursor_.clear();
  silent_lanes_.clear();
}

void Counters::coordinator_work(const LeaseGuard& guard) {
  for (std::size_t pages = 0; pages < options_.pages_max && !guard.stopping(); ++pages) {
    const Result<ListPage> page = store_.list(keys_.deltas, cursor_);
    cursor_ = page ? page->next : std::string();
    if (!page) {
      log_warn("cannot list the adds to counters",
               {{"namespace", options_.name_space}, {"error", page.error().message}});
      return;
    }
    std::map<std::string, Deltas> by_counter;
    for (const ListedObject& object : page->objects) {
      if (auto delta = keys_.delta_of(object.key)) {
        by_counter[delta->counter].emplace_back(object.key, *delta);
      }
    }
    for (const auto& [counter, deltas] : by_counter) {
      const Status folded = fold(guard, counter, deltas);
      if (guard.stopping()) return;
      if (!folded) {
        log_warn("a counter was not folded", {{"namespace", options_.name_space},
                                              {"counter", counter},
                                              {"epoch", std::to_string(guard.epoch().value())},
                                              {"error", folded.error().message}});
      }
    }
    if (cursor_.empty()) return;
  }
}

Status Counters::fold(const LeaseGuard& guard, const std::string& counter, const Deltas& deltas) {
  Result<FoundTotal> found = find(counter);
  if (!found) return found.error();
  Total& total = found->total;
  if (total.epoch > guard.epoch()) {
    count_epoch_drift();
    return {Errc::kDenied, "epoch " + std::to_string(guard.epoch().value()) + " is behind " +
                               std::to_string(total.epoch.value())};
  }
  const Result<bool> added = apply(deltas, total);
  if (!added) return added.error();
  const bool forgot = forget_lanes(guard, counter, total);
  if (*added || forgot) {
    total.epoch = guard.epoch();
    total.updated_at = clock_.wall_now();
    if (guard.stopping()) return {Errc::kCancelled, "the term ends"};
    const Result<Revision> written = settled_put(
        store_, keys_.total(counter), counters::encode(total, nonces_.next()), found->unchanged);
    // Unclear or lost: the next round looks again. Nothing is removed that may not be counted.
    if (!written) return written.error();
  }
  return sweep(guard, deltas, total);
}

Result<bool> Counters::apply(const Deltas& deltas, Total& total) const {
  bool added = false;
  for (const auto& [key, delta] : deltas) {
    // Pages of a list are read one after another, so a later number may be seen before an earlier
    // one: it waits for it. A number that was folded is a copy that came late: it is swept.
    if (delta.number != total.folded(delta.lane) + 1) continue;
    if (__builtin_add_overflow(total.value, delta.amount, &total.value)) {
      return {Errc::kInvalid, "the counter exceeds the range of 64 bits"};
    }
    total.lanes[delta.lane] = {delta.number, {}};
    added = true;
  }
  return added;
}

bool Counters::is_swept(const std::string& counter, const std::string& lane) {
  const Result<ListPage> page = store_.list(keys_.deltas_of(counter, lane));
  return page && page->objects.empty() && page->next.empty();
}

bool Counters::forget_lanes(const LeaseGuard& guard, const std::string& counter, Total& total) {
  bool forgot = false;
  for (auto it = total.lanes.begin(); it != total.lanes.end() && !guard.stopping();) {
    auto& [name, lane] = *it;
    const Silence now_seen{lane.folded, lane.silent, clock_.now()};
    Silence& silence = silent_lanes_.try_emplace({counter, name}, now_seen).first->second;
    if (silence.folded != lane.folded) silence = now_seen;
    lane.silent = silence.before + (clock_.now() - silence.since);
    // A copy that is still there would count again once its lane is forgotten.
    if (lane.silent < options_.lane_retention || !is_swept(counter, name)) {
      ++it;
      continue;
    }
    silent_lanes_.erase({counter, name});
    it = total.lanes.erase(it);
    forgot = true;
  }
  return forgot;
}

Status Counters::sweep(const LeaseGuard& guard, const Deltas& deltas, const Total& total) {
  for (const auto& [key, delta] : deltas) {
    if (delta.number > total.folded(delta.lane)) continue;
    if (guard.stopping()) return {Errc::kCancelled, "the term ends"};
    // Without a condition: an add is never rewritten, so there is nothing newer to destroy.
    const Status removed = store_.remove(key);
    if (!removed && !removed.is(Errc::kNotFound)) return removed;
  }
  return Done{};
}

}  // namespace muster
