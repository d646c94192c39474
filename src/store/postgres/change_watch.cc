#include "store/postgres/change_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"

namespace muster::postgres {
namespace {

/// Between two looks at all keys while notifications arrive: they are reliable on one connection,
/// and a new one is followed by a look.
constexpr Duration kSeldom = 30s;
/// Between two looks while they do not.
constexpr Duration kOften = 1s;
constexpr Duration kLeastWait = 50ms;
constexpr Duration kMostWait = 1s;
constexpr std::size_t kKeysAtOnce = 200;

}  // namespace

ChangeWatch::ChangeWatch(Loop& loop, const Statements& statements, Deps deps, std::string name,
                         std::string prefix, std::optional<Known> known, bool lost,
                         std::function<void(const WatchEvent&)> on_event)
    : statements_(statements),
      deps_(std::move(deps)),
      name_(std::move(name)),
      prefix_(std::move(prefix)),
      on_event_(std::move(on_event)),
      known_(std::move(known)),
      lost_(lost),
      history_(deps_.history()),
      timer_(loop) {}

void ChangeWatch::look() {
  all_ = true;
  run();
}

void ChangeWatch::hint(const Key& key) {
  if (closed_ || !key.starts_with(prefix_)) return;
  // Where only some notifications arrive, a change of which none did may have been before this.
  if (!deps_.hears()) return look();
  hinted_.insert(key);
  run();
}

void ChangeWatch::close() {
  closed_ = true;
  timer_.cancel();
  on_event_ = nullptr;
}

void ChangeWatch::run() {
  if (closed_ || busy_) return;
  if (all_ || !known_) {
    busy_ = true;
    return look_at_all();
  }
  if (!hinted_.empty()) {
    busy_ = true;
    return look_at_some();
  }
  timer_.arm(deps_.hears() ? kSeldom : kOften, [this] { look(); });
}

void ChangeWatch::look_at_all() {
  all_ = false;
  deps_.ask(statements_.list(prefix_, {}, 0), [self = shared_from_this()](Result<Rows> rows) {
    if (self->closed_) return;
    self->busy_ = false;
    if (!rows) return self->failed(rows.error());
    self->compare(self->statements_.listed(*rows, 0));
    self->run();
  });
}

void ChangeWatch::compare(const ListPage& all) {
  backoff_ = Duration::zero();
  Known now;
  for (const ListedObject& object : all.objects) now.emplace(object.key, object.revision);
  // What is known of another history says nothing about this one.
  if (std::exchange(history_, deps_.history()) != deps_.history()) lost_ = true;
  if (!known_ || lost_) {
    // A hint that is there already may be of a change after this look: it stays.
    known_ = std::move(now);
    if (std::exchange(lost_, false)) deliver(WatchEvent::Kind::kReset, {}, {});
    return;
  }
  for (const auto& [key, revision] : now) {
    const auto before = known_->find(key);
    if (before == known_->end() || before->second != revision) hinted_.insert(key);
  }
  for (const auto& [key, revision] : *known_) {
    if (!now.contains(key)) hinted_.insert(key);
  }
}

void ChangeWatch::look_at_some() {
  std::set<Key> asked;
  while (!hinted_.empty() && asked.size() < kKeysAtOnce) {
    asked.insert(hinted_.extract(hinted_.begin()));
  }
  deps_.ask(statements_.fetch({asked.begin(), asked.end()}),
            [self = shared_from_this(), asked](Result<Rows> rows) {
              if (self->closed_) return;
              self->busy_ = false;
              if (!rows) return self->failed(rows.error());
              if (self->history_ != self->deps_.history()) {
                self->all_ = true;
              } else {
                self->report(asked, self->statements_.fetched(*rows));
              }
              self->run();
            });
}

void ChangeWatch::report(const std::set<Key>& asked,
                         const std::vector<Statements::Fetched>& objects) {
  std::set<Key> gone = asked;
  for (const auto& [key, object] : objects) {
    // The caller may have closed it, and ended the store, from within an event.
    if (closed_) return;
    gone.erase(key);
    Revision& known = (*known_)[key];
    if (known == object.revision) continue;
    known = object.revision;
    Object seen = object;
    seen.revision = Revision(deps_.stamped(seen.revision.value()));
    deliver(WatchEvent::Kind::kPut, key, std::move(seen));
  }
  for (const Key& key : gone) {
    if (!closed_ && known_->erase(key) > 0) deliver(WatchEvent::Kind::kRemoved, key, {});
  }
}

void ChangeWatch::deliver(WatchEvent::Kind kind, const Key& key, Object object) {
  if (closed_) return;
  ++events_;
  // A copy: the caller may close the watch from within it.
  const auto on_event = on_event_;
  on_event({kind, key, std::move(object), deps_.stamped(cursor())});
}

void ChangeWatch::failed(const Error& error) {
  if (error.code == Errc::kCorrupt) {
    // The list that follows tells the caller why.
    log_error("store watch ended", {{"store", "PostgreSQL"}, {"reason", error.message}});
    return deliver(WatchEvent::Kind::kReset, {}, {});
  }
  // Without a first look, what changes until there is one cannot be told.
  if (!known_) lost_ = true;
  all_ = true;
  backoff_ = std::clamp(backoff_ * 2, kLeastWait, kMostWait);
  busy_ = true;
  timer_.arm(backoff_, [this] {
    busy_ = false;
    run();
  });
}

}  // namespace muster::postgres
