#include "core/cluster/reachability.h"

#include <algorithm>

namespace muster::cluster {

const char* role_of(Presence presence) {
  switch (presence) {
    case Presence::kUnknown:
      return "unknown";
    case Presence::kPresent:
      return "follower";
    case Presence::kAbsent:
      return "unreachable";
  }
  return "unknown";
}

void Reachability::begin(MonoTime now) {
  began_ = now;
  heard_.clear();
}

Duration Reachability::silence(const std::string& id, MonoTime now) const {
  const auto found = heard_.find(id);
  return now - (found == heard_.end() ? began_ : found->second);
}

bool Reachability::deserted(std::size_t others_at_work, Duration patience, MonoTime now) const {
  MonoTime last = began_;
  for (const auto& [id, time] : heard_) last = std::max(last, time);
  return now - last >= patience && others_at_work >= (heard_.empty() ? 2 : 1);
}

}  // namespace muster::cluster
