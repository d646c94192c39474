#include "rpc/anteroom.h"

#include <algorithm>
#include <utility>

namespace muster::rpc {

void Anteroom::index(Host& host, bool present) {
  ++work_;
  const auto put = [present](auto& set, auto entry) {
    if (present) {
      set.insert(std::move(entry));
    } else {
      set.erase(entry);
    }
  };
  if (!host.under_way.empty())
    put(busy_, Load{host.under_way.size(), *host.under_way.begin(), &host});
  if (host.waiting.empty()) return;
  put(crowded_, Load{host.waiting.size(), {{}, *host.waiting.begin()}, &host});
  if (host.under_way.size() < options_.each_max) {
    put(open_, std::pair(host.turn, &host));
  } else {
    put(full_, std::pair(*host.under_way.begin(), &host));
  }
}

template <typename Change>
void Anteroom::alter(Host& host, Change change) {
  index(host, false);
  change();
  index(host, true);
}

void Anteroom::came(Guest guest, const std::string& host, MonoTime now) {
  if (guests_.size() - under_way_ >= options_.waiting_max && !crowded_.empty())
    close(crowded_.rbegin()->first, Why::kRoom, dropped_);
  const auto at = hosts_.try_emplace(host).first;
  alter(at->second, [&] {
    if (at->second.waiting.empty()) at->second.turn = ++turns_;
    at->second.waiting.insert(guest);
  });
  guests_.emplace(guest, Visit{.host = at, .came = now, .began = now, .due = {}});
}

void Anteroom::set_due(Guest guest, Visit& visit) {
  const MonoTime at = visit.spoke
                          ? visit.began + options_.patience
                          : std::max(visit.came + options_.silence, visit.began + options_.glance);
  visit.due = {at, guest};
  visit.host->second.under_way.insert(visit.due);
  due_.insert(visit.due);
}

void Anteroom::spoke(Guest guest) {
  const auto found = guests_.find(guest);
  if (found == guests_.end() || std::exchange(found->second.spoke, true)) return;
  Visit& visit = found->second;
  if (!visit.under_way) return;
  Host& host = visit.host->second;
  alter(host, [&] {
    host.under_way.erase(visit.due);
    due_.erase(visit.due);
    set_due(guest, visit);
  });
}

void Anteroom::left(Guest guest) {
  const auto found = guests_.find(guest);
  if (found == guests_.end()) return;
  const Visit visit = found->second;
  guests_.erase(found);
  Host& host = visit.host->second;
  alter(host, [&] {
    if (visit.under_way) {
      --under_way_;
      host.under_way.erase(visit.due);
      due_.erase(visit.due);
    } else {
      host.waiting.erase(guest);
    }
  });
  if (host.waiting.empty() && host.under_way.empty()) hosts_.erase(visit.host);
}

Anteroom::Turn Anteroom::next(MonoTime now) {
  Turn turn;
  turn.close = std::exchange(dropped_, {});
  // In turn, so that neither kind of host waits for all of the other.
  for (bool open = true; turn.begin.size() < options_.begin_max; open = !open) {
    const bool any = open ? serve_open(now, turn) || serve_full(now, turn)
                          : serve_full(now, turn) || serve_open(now, turn);
    if (!any) return turn;
  }
  turn.more = waiting();
  return turn;
}

bool Anteroom::serve_open(MonoTime now, Turn& turn) {
  if (open_.empty()) return false;
  Host& host = *open_.begin()->second;
  if (under_way_ >= options_.all_max) {
    // The busiest host makes the place; if it cannot yet, the connection whose time was over first.
    const Due of_busiest = busy_.rbegin()->first;
    const Due due = of_busiest.first <= now ? of_busiest : *due_.begin();
    if (due.first > now) return false;
    close(due, Why::kSlow, turn.close);
  }
  begin_first(host, now, turn);
  return true;
}

bool Anteroom::serve_full(MonoTime now, Turn& turn) {
  if (full_.empty() || full_.begin()->first.first > now) return false;
  const auto [due, host] = *full_.begin();
  close(due, Why::kSlow, turn.close);
  begin_first(*host, now, turn);
  return true;
}

void Anteroom::begin_first(Host& host, MonoTime now, Turn& turn) {
  const Guest guest = *host.waiting.begin();
  Visit& visit = guests_.at(guest);
  alter(host, [&] {
    host.waiting.erase(guest);
    host.turn = ++turns_;
    visit.under_way = true;
    visit.began = now;
    set_due(guest, visit);
  });
  ++under_way_;
  turn.begin.push_back(guest);
}

void Anteroom::close(Due due, Why why, std::vector<Closed>& closed) {
  closed.push_back({due.second, why});
  left(due.second);
}

}  // namespace muster::rpc
