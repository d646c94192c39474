#include "server/gateway/election_json.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "core/election/records.h"

namespace muster::server {
std::string key_prefix(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path.empty() ? path : path + '/';
}

std::string state_key(const std::string& path, const std::string& name) {
  return key_prefix(path) + NamespaceKeys(name).state;
}

Json election_json(const std::string& name, const v1::StoreObject& object) {
  const auto state = decode_leader_state(object.value());
  Json json{{"name", name}, {"leader", nullptr}};
  if (state && state->leader) json["leader"] = state->leader->value();
  const auto age = static_cast<std::int64_t>(object.age_ms());
  const std::int64_t lease = state ? to_ms(state->lease) : 0;
  json["value"] = state ? state->value : "";
  json["epoch"] = (state ? state->epoch : salvage_epoch(object.value())).value();
  json["lease_ms"] = lease;
  json["lease_left_ms"] = state && state->leader ? std::max<std::int64_t>(0, lease - age) : 0;
  json["age_ms"] = age;
  json["elected_at"] = state ? to_ms(state->elected_at) : 0;
  Json workers = Json::array();
  if (state) {
    for (const WorkerId& worker : state->workers) workers.push_back(worker.value());
  }
  json["workers"] = std::move(workers);
  json["revision"] = object.revision();
  if (!state) json["damaged"] = state.error().message;
  return json;
}

ElectionList::ElectionList(const std::string& path, std::string after, std::size_t limit,
                           bool stale_ok)
    : prefix_(key_prefix(path)),
      key_after_(after.empty() ? "" : end_of(after)),
      limit_(limit),
      stale_ok_(stale_ok),
      last_(std::move(after)) {}

std::optional<std::string> ElectionList::name_in(const std::string& key) const {
  if (!key.starts_with(prefix_)) return {};
  return election_of(std::string_view(key).substr(prefix_.size()));
}

std::string ElectionList::end_of(const std::string& name) const {
  // '0' is the byte after '/'.
  return prefix_ + kElectionsPrefix + name + '0';
}

std::optional<v1::StoreListRequest> ElectionList::next() const {
  if (!more_ || elections_.size() >= limit_) return {};
  v1::StoreListRequest request;
  request.set_prefix(prefix_ + kElectionsPrefix);
  request.set_after(key_after_);
  request.set_with_values(true);
  request.set_stale_ok(stale_ok_);
  return request;
}

void ElectionList::add(const v1::StoreListResponse& page) {
  more_ = page.more() && page.objects_size() > 0;
  for (const v1::StoreObject& object : page.objects()) {
    key_after_ = object.key();
    const auto name = name_in(object.key());
    if (!name || prefix_ + NamespaceKeys(*name).state != object.key()) continue;
    if (elections_.size() >= limit_) {
      more_ = true;
      return;
    }
    elections_.push_back(election_json(*name, object));
    last_ = *name;
  }
  // The rest of an election that is in the list already is of no use, however many workers it has.
  const auto name = name_in(key_after_);
  if (name && *name == last_) key_after_ = end_of(*name);
}

Json ElectionList::json() const {
  const bool cut = more_ && elections_.size() >= limit_;
  return {{"elections", elections_}, {"next", cut ? Json(last_) : Json(nullptr)}};
}

}  // namespace muster::server
