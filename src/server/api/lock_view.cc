#include "server/api/lock_view.h"

#include <algorithm>
#include <iterator>

#include "core/election/records.h"

namespace muster::server {

const LockView::Holder* LockView::of(const Incarnation& session) const {
  const auto found = std::find_if(holders.begin(), holders.end(),
                                  [&](const Holder& each) { return each.incarnation == session; });
  return found == holders.end() ? nullptr : &*found;
}

std::string LockView::held(const std::string& name) const {
  const std::string lock = "the lock \"" + name + "\" is ";
  if (holders.empty()) return lock + "not free";
  const std::string more =
      holders.size() == 1 ? "" : " and " + std::to_string(holders.size() - 1) + " more";
  return lock + "held by " + holders.front().id.value() + more;
}

LockView view_lock(const cluster::VersionedKv& kv, membership::LogTime now,
                   const std::string& prefix, const std::string& name) {
  const LockKeys keys(name);
  LockView view;
  kv.scan(prefix + keys.root, {}, [&](const std::string& full, const cluster::KvEntry& entry) {
    const std::string key = full.substr(prefix.size());
    if (key == keys.shape) {
      if (const auto shape = decode_lock_shape(*entry.value)) view.shape = *shape;
      return true;
    }
    const auto permit = keys.permit_of(key);
    if (!permit || !key.ends_with("/state.json")) return true;
    const auto state = decode_leader_state(*entry.value);
    if (!state || !state->leader) return true;
    const Duration left = state->lease - Duration(now - entry.written_at);
    if (left <= Duration(0)) return true;
    auto holder = std::find_if(view.holders.begin(), view.holders.end(),
                               [&](const auto& each) { return each.id == *state->leader; });
    if (holder == view.holders.end()) {
      view.holders.push_back({*state->leader, state->incarnation, {}, state->lease, left});
      holder = std::prev(view.holders.end());
    }
    holder->permits.push_back({*permit, state->epoch});
    holder->left = std::min(holder->left, left);
    return true;
  });
  for (LockView::Holder& holder : view.holders) {
    std::sort(holder.permits.begin(), holder.permits.end(),
              [](const HeldPermit& a, const HeldPermit& b) { return a.permit < b.permit; });
  }
  return view;
}

void to_proto(const LockView& view, v1::GetLockResponse& out) {
  const bool read_write = view.shape->kind == LockKind::kReadWrite;
  out.set_kind(read_write                             ? "read/write lock"
               : view.shape->kind == LockKind::kMutex ? "mutex"
                                                      : "semaphore");
  out.set_permits(view.shape->permits);
  for (const LockView::Holder& each : view.holders) {
    v1::LockHolder& holder = *out.add_holders();
    holder.set_holder(each.id.value());
    holder.set_token(each.permits.front().epoch.value());
    holder.set_writes(each.writes());
    holder.set_left_ms(static_cast<std::uint64_t>(to_ms(each.left)));
    holder.set_taking(!each.enough(*view.shape));
  }
}

bool says_released(const cluster::VersionedKv& kv, const std::string& prefix,
                   const std::string& name, const Incarnation& session, const HeldPermit& held) {
  const auto* entry =
      kv.find(prefix + NamespaceKeys::below(LockKeys(name).permit(held.permit)).state);
  if (entry == nullptr) return false;
  const auto state = decode_leader_state(*entry->value);
  return state && !state->leader && state->released && state->released->epoch == held.epoch &&
         state->released->incarnation == session;
}

}  // namespace muster::server
