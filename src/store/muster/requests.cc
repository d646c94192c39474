#include "store/muster/requests.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/text.h"
#include "core/cluster/versioned_kv.h"
#include "store/remote/numbers.h"

namespace muster::musterd {
namespace {

using remote::PageStart;
using remote::to_number;

/// Stands for a revision that no musterd ever issued: nothing is at it.
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

std::uint64_t number_of(const Revision& revision) {
  const auto number = to_number(revision.value());
  return number && *number > 0 ? static_cast<std::uint64_t>(*number) : kNever;
}

void state(const Precondition& when, v1::StoreCondition* condition) {
  if (when.kind == Precondition::Kind::kAbsent) condition->set_absent(true);
  if (when.kind == Precondition::Kind::kAtRevision) {
    condition->set_at_revision(number_of(when.revision));
  }
}

Duration age_of(const v1::StoreObject& object) {
  constexpr std::uint64_t kMost = 1'000'000'000'000;  // Decades; more would overflow.
  return std::chrono::milliseconds(std::min(object.age_ms(), kMost));
}

Revision revision_of(const v1::StoreObject& object) {
  return Revision(std::to_string(object.revision()));
}

}  // namespace

Requests::Requests(std::string prefix) : prefix_(std::move(prefix)) {
  while (prefix_.ends_with('/')) prefix_.pop_back();
  if (!prefix_.empty()) prefix_ += '/';
}

Result<std::string> Requests::full(const Key& key) const {
  if (key.empty()) return {Errc::kInvalid, "an object needs a key that is not empty"};
  std::string name = prefix_ + key;
  if (Status s = cluster::validate_key(name); !s) return s.error();
  if (!is_utf8(name)) return {Errc::kInvalid, "a key must be UTF-8"};
  return name;
}

Key Requests::strip(const std::string& full_key) const {
  return full_key.substr(std::min(prefix_.size(), full_key.size()));
}

Result<v1::StoreGetRequest> Requests::get(const Key& key,
                                          const std::optional<Revision>& unless) const {
  auto name = full(key);
  if (!name) return name.error();
  v1::StoreGetRequest request;
  request.set_key(std::move(*name));
  if (unless) request.set_unless_revision(number_of(*unless));
  return request;
}

Result<v1::StorePutRequest> Requests::put(const Key& key, std::string body,
                                          const Precondition& when,
                                          const std::optional<Guard>& guard) const {
  auto name = full(key);
  if (!name) return name.error();
  if (body.size() > cluster::kValueBytesMax) {
    return {Errc::kInvalid, "the object is over musterd's limit of " +
                                std::to_string(cluster::kValueBytesMax) + " bytes"};
  }
  v1::StorePutRequest request;
  request.set_key(std::move(*name));
  request.set_value(std::move(body));
  state(when, request.mutable_when());
  if (guard) {
    auto guard_name = full(guard->key);
    if (!guard_name) return guard_name.error();
    request.mutable_guard()->set_key(std::move(*guard_name));
    state(guard->when, request.mutable_guard()->mutable_when());
  }
  return request;
}

Result<v1::StoreRemoveRequest> Requests::remove(const Key& key,
                                                const std::optional<Revision>& when) const {
  auto name = full(key);
  if (!name) return name.error();
  v1::StoreRemoveRequest request;
  request.set_key(std::move(*name));
  if (when) request.set_at_revision(number_of(*when));
  return request;
}

Result<v1::StoreListRequest> Requests::list(const std::string& prefix, const std::string& from,
                                            std::uint32_t page_size) const {
  v1::StoreListRequest request;
  request.set_prefix(prefix_ + prefix);
  request.set_limit(page_size);
  if (!is_utf8(request.prefix())) return {Errc::kInvalid, "a prefix must be UTF-8"};
  if (!from.empty()) {
    const auto start = PageStart::parse(from);
    if (!start || !start->key.starts_with(request.prefix())) {
      return {Errc::kInvalid,
              "a list continues only from the position that its earlier page "
              "returned"};
    }
    request.set_after(std::string(start->key));
  }
  return request;
}

v1::StoreListRequest Requests::revision() const {
  v1::StoreListRequest request;
  request.set_prefix(prefix_);
  request.set_limit(1);
  return request;
}

v1::StoreWatchRequest Requests::watch(const std::string& prefix, std::int64_t after,
                                      const std::string& history) const {
  v1::StoreWatchRequest request;
  request.set_prefix(prefix_ + prefix);
  request.set_after_revision(static_cast<std::uint64_t>(after));
  request.set_history(history);
  return request;
}

Result<Object> Requests::got(const Key& key, v1::StoreGetResponse response) {
  if (response.unchanged()) return {Errc::kUnchanged, key + " has not changed"};
  auto* object = response.mutable_object();
  return Object{std::move(*object->mutable_value()), revision_of(*object), age_of(*object)};
}

std::int64_t Requests::position(std::uint64_t revision) {
  // A store that never changed is at 0. Revisions hold a place in the log, so 1 is none yet.
  return std::max<std::int64_t>(static_cast<std::int64_t>(revision), 1);
}

ListPage Requests::listed(const std::string& from, const v1::StoreListResponse& response) const {
  ListPage page;
  const auto start = PageStart::parse(from);
  const std::int64_t revision = start ? start->revision : position(response.revision());
  page.cursor = std::to_string(revision);
  for (const auto& object : response.objects()) {
    page.objects.push_back({strip(object.key()), revision_of(object), age_of(object)});
  }
  if (response.more() && response.objects_size() > 0) {
    page.next = PageStart{revision, response.objects(response.objects_size() - 1).key()}.text();
  }
  return page;
}

std::vector<WatchEvent> Requests::events(v1::StoreWatchResponse response,
                                         std::int64_t after) const {
  std::vector<WatchEvent> events;
  auto& raw = *response.mutable_events();
  for (int i = 0; i < raw.size(); ++i) {
    auto* object = raw.Mutable(i)->mutable_object();
    const auto revision = static_cast<std::int64_t>(object->revision());
    if (revision <= after) continue;
    // Should one revision ever change several keys, a watch that stops among them must see all
    // again.
    const bool last =
        i + 1 == raw.size() || raw.Get(i + 1).object().revision() != object->revision();
    WatchEvent event{WatchEvent::Kind::kRemoved,
                     strip(object->key()),
                     {},
                     std::to_string(last ? revision : revision - 1)};
    if (!raw.Get(i).removed()) {
      event.kind = WatchEvent::Kind::kPut;
      event.object = {std::move(*object->mutable_value()), revision_of(*object), age_of(*object)};
    }
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace muster::musterd
