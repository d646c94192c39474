#include "store/memory/memory_store.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster {
namespace {

Revision to_revision(std::uint64_t number) {
  return Revision(std::to_string(number));
}

class MemoryWatch final : public Watch {
 public:
  MemoryWatch(Loop& loop, std::shared_ptr<MemoryObjects> objects, std::string prefix,
              std::function<void(const WatchEvent&)> on_event)
      : loop_(loop), objects_(std::move(objects)), on_event_(std::move(on_event)) {
    subscription_ = objects_->subscribe([this, prefix](const MemoryObjects::Change& change) {
      if (change.key.starts_with(prefix)) announce(change);
    });
  }
  ~MemoryWatch() override { objects_->unsubscribe(subscription_); }

  void announce(const MemoryObjects::Change& change) {
    WatchEvent event{change.removed ? WatchEvent::Kind::kRemoved : WatchEvent::Kind::kPut,
                     change.key,
                     {},
                     std::to_string(change.revision)};
    if (!change.removed) event.object = *objects_->get(change.key, {}, loop_.now());
    deliver(std::move(event));
  }
  void deliver(WatchEvent event) {
    loop_.post(lifetime_.wrap([this, event = std::move(event)] { on_event_(event); }));
  }

 private:
  Loop& loop_;
  std::shared_ptr<MemoryObjects> objects_;
  std::function<void(const WatchEvent&)> on_event_;
  std::uint64_t subscription_ = 0;
  Lifetime lifetime_;
};

}  // namespace

Status MemoryObjects::holds(const Key& key, const Precondition& when) const {
  const auto it = entries_.find(key);
  switch (when.kind) {
    case Precondition::Kind::kNone:
      return Done{};
    case Precondition::Kind::kAbsent:
      if (it == entries_.end()) return Done{};
      return {Errc::kConflict, key + " exists already"};
    case Precondition::Kind::kAtRevision:
      if (it != entries_.end() && to_revision(it->second.revision) == when.revision) return Done{};
      return {Errc::kConflict, key + " is not at revision " + when.revision.value()};
  }
  return {Errc::kInvalid, "unknown precondition"};
}

Result<Object> MemoryObjects::get(const Key& key, const std::optional<Revision>& unless,
                                  MonoTime now) const {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return {Errc::kNotFound, key + " does not exist"};
  const Revision revision = to_revision(it->second.revision);
  if (unless == revision) return {Errc::kUnchanged, key + " has not changed"};
  return Object{it->second.body, revision, now - it->second.written};
}

Result<Revision> MemoryObjects::put(const Key& key, std::string body, const Precondition& when,
                                    const std::optional<Guard>& guard, MonoTime now) {
  if (Status held = holds(key, when); !held) return held.error();
  if (guard) {
    if (Status held = holds(guard->key, guard->when); !held) return held.error();
  }
  ++revision_;
  entries_[key] = {std::move(body), revision_, now};
  announce({key, revision_, false});
  return to_revision(revision_);
}

Status MemoryObjects::remove(const Key& key, const std::optional<Revision>& when) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return {Errc::kNotFound, key + " does not exist"};
  if (when) {
    if (Status held = holds(key, Precondition::at(*when)); !held) return held;
  }
  entries_.erase(it);
  last_removal_ = ++revision_;
  announce({key, revision_, true});
  return Done{};
}

void MemoryObjects::go_back(const MemoryObjects& copy, bool count_again) {
  entries_ = copy.entries_;
  if (!count_again) return;
  revision_ = copy.revision_;
  last_removal_ = copy.last_removal_;
}

void MemoryObjects::restore(const Key& key, Entry entry) {
  const std::uint64_t revision = entry.revision;
  entries_[key] = std::move(entry);
  ++revision_;
  announce({key, revision, false});
}

ListPage MemoryObjects::list(const std::string& prefix, const std::string& from,
                             MonoTime now) const {
  ListPage page;
  page.cursor = std::to_string(revision_);
  for (auto it = from.empty() ? entries_.lower_bound(prefix) : entries_.upper_bound(from);
       it != entries_.end() && it->first.starts_with(prefix); ++it) {
    if (page.objects.size() == page_size) {
      page.next = page.objects.back().key;
      break;
    }
    page.objects.push_back({it->first, to_revision(it->second.revision), now - it->second.written});
  }
  return page;
}

std::vector<MemoryObjects::Change> MemoryObjects::changes_since(const std::string& prefix,
                                                                std::uint64_t revision) const {
  std::vector<Change> changes;
  for (auto it = entries_.lower_bound(prefix);
       it != entries_.end() && it->first.starts_with(prefix); ++it) {
    if (it->second.revision > revision) changes.push_back({it->first, it->second.revision, false});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.revision < b.revision; });
  return changes;
}

std::uint64_t MemoryObjects::subscribe(std::function<void(const Change&)> on_change) {
  subscribers_.emplace(next_subscriber_, std::move(on_change));
  return next_subscriber_++;
}

void MemoryObjects::announce(const Change& change) {
  for (const auto& [id, on_change] : subscribers_) on_change(change);
}

Capabilities MemoryStore::capabilities() const {
  return {.watch = true, .guarded_put = true, .conditional_remove = true, .multi_key_order = true};
}

void MemoryStore::get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) {
  complete<Object>(by, std::move(done), [&] { return objects_->get(key, unless, loop_.now()); });
}

void MemoryStore::put(Key key, std::string body, Precondition when, Deadline by,
                      Callback<Revision> done) {
  complete<Revision>(by, std::move(done),
                     [&] { return objects_->put(key, std::move(body), when, {}, loop_.now()); });
}

void MemoryStore::guarded_put(Key key, std::string body, Precondition when, Guard guard,
                              Deadline by, Callback<Revision> done) {
  complete<Revision>(by, std::move(done), [&] {
    return objects_->put(key, std::move(body), when, std::move(guard), loop_.now());
  });
}

void MemoryStore::remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) {
  complete<Done>(by, std::move(done), [&] { return objects_->remove(key, when); });
}

void MemoryStore::list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) {
  complete<ListPage>(by, std::move(done),
                     [&] { return objects_->list(prefix, from, loop_.now()); });
}

std::unique_ptr<Watch> MemoryStore::watch(std::string prefix, std::string cursor,
                                          std::function<void(const WatchEvent&)> on_event) {
  auto watch = std::make_unique<MemoryWatch>(loop_, objects_, prefix, std::move(on_event));
  if (const auto since = parse_unsigned(cursor)) {
    // Removals leave no trace here, so a cursor before the last one cannot be resumed exactly.
    if (*since < objects_->last_removal()) {
      watch->deliver({WatchEvent::Kind::kReset, {}, {}, std::to_string(objects_->revision())});
    } else {
      for (const auto& change : objects_->changes_since(prefix, *since)) watch->announce(change);
    }
  }
  return watch;
}

}  // namespace muster
