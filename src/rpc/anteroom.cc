#include "rpc/anteroom.h"

#include <algorithm>
#include <utility>

namespace muster::rpc {

void Anteroom::came(Guest guest, const std::string& host) {
  if (waiting_ >= options_.waiting_max) drop_one_waiting();
  const auto at = hosts_.try_emplace(host).first;
  at->second.waiting.push_back(guest);
  guests_.emplace(guest, at);
  ++waiting_;
}

void Anteroom::left(Guest guest) {
  const auto found = guests_.find(guest);
  if (found == guests_.end()) return;
  const auto at = found->second;
  guests_.erase(found);
  if (at->second.under_way.erase(guest) > 0) {
    --under_way_;
  } else {
    std::erase(at->second.waiting, guest);
    --waiting_;
  }
  if (at->second.waiting.empty() && at->second.under_way.empty()) hosts_.erase(at);
}

Anteroom::Turn Anteroom::next(MonoTime now) {
  Turn turn;
  turn.close = std::exchange(dropped_, {});
  // One of each host, again and again, so that none waits for all of another's.
  for (bool any = true; any;) {
    any = false;
    for (auto host = hosts_.begin(); host != hosts_.end(); ++host) {
      if (host->second.waiting.empty()) continue;
      if (host->second.under_way.size() >= options_.each_max) {
        if (!make_place(host->second, now, turn)) continue;
      } else if (under_way_ >= options_.all_max) {
        if (!make_place(busiest()->second, now, turn)) continue;
      }
      begin_first(host, now, turn);
      any = true;
    }
  }
  return turn;
}

void Anteroom::begin_first(Hosts::iterator host, MonoTime now, Turn& turn) {
  const Guest guest = host->second.waiting.front();
  host->second.waiting.pop_front();
  --waiting_;
  host->second.under_way.emplace(guest, now);
  ++under_way_;
  turn.begin.push_back(guest);
}

bool Anteroom::make_place(Host& host, MonoTime now, Turn& turn) {
  // They begin in the order of their numbers.
  const auto oldest = host.under_way.begin();
  if (now - oldest->second < options_.patience) return false;
  turn.close.push_back(oldest->first);
  guests_.erase(oldest->first);
  host.under_way.erase(oldest);
  --under_way_;
  return true;
}

Anteroom::Hosts::iterator Anteroom::busiest() {
  return std::max_element(hosts_.begin(), hosts_.end(), [](const auto& a, const auto& b) {
    return a.second.under_way.size() < b.second.under_way.size();
  });
}

void Anteroom::drop_one_waiting() {
  const auto most =
      std::max_element(hosts_.begin(), hosts_.end(), [](const auto& a, const auto& b) {
        return a.second.waiting.size() < b.second.waiting.size();
      });
  const Guest guest = most->second.waiting.front();
  dropped_.push_back(guest);
  left(guest);
}

}  // namespace muster::rpc
