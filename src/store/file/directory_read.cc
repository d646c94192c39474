// Reading: one object, a list, and what a watch reports.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "platform/system_clock.h"
#include "store/file/directory.h"
#include "store/file/layout.h"

namespace muster::file {
namespace {

// What a list reads of a file. One that fits is listed at the revision that get() finds, also when
// it is damaged; of a larger one the header must do.
constexpr std::size_t kListedBytes = 4096;
// Damage beyond this is logged more than once.
constexpr std::size_t kReportedMax = 1000;

Duration age_of(WallTime written) {
  return std::max<Duration>(Duration(0), system_wall_now() - written);
}

}  // namespace

Result<Object> Directory::get(const Key& key, const std::optional<Revision>& unless) {
  if (Status s = check_key(key); !s) return s.error();
  if (Status s = at_path(); !s) return s.error();
  const std::string name = file_of(key);
  auto content = files::read(root_.get(), name, kFileBytesMax);
  if (content.is(Errc::kNotFound)) {
    if (Status s = in_place(); !s) return s.error();
    if (Status s = ensure_durable(name, {}); !s) return s.error();
    return {Errc::kNotFound, key + " does not exist"};
  }
  if (!content) return in_store(path_, content.error());
  const auto found = decode_object(content->bytes);
  if (!found && !found.is(Errc::kCorrupt)) return about(name, found.error());
  // Which write a damaged file was cannot be told; it may be the last one.
  if (Status s = ensure_durable(name, found ? found->sequence : UINT64_MAX); !s) return s.error();
  const Revision revision =
      found ? found->revision() : damaged_revision(content->bytes, content->written);
  if (unless == revision) return {Errc::kUnchanged, key + " has not changed"};
  Object object{std::move(content->bytes), revision, age_of(content->written)};
  if (found) {
    object.body.erase(0, kObjectHeaderBytes);
  } else {
    object.damage = about(name, found.error()).message;
    report(object.damage, revision);
  }
  return object;
}

void Directory::report(const std::string& damage, const Revision& revision) {
  if (reported_.size() >= kReportedMax) reported_.clear();
  if (!reported_.insert(damage + " " + revision.value()).second) return;
  log_warn("an object is damaged", {{"why", damage}, {"revision", revision.value()}});
}

// `seen` is the sequence of the object just read, or nothing when there was none.
Status Directory::ensure_durable(const std::string& name, std::optional<std::uint64_t> seen) {
  if (!options_.sync) return Done{};
  if (const auto state = journal_.read()) {
    if (state->in_flight == InFlight::kNothing) return Done{};
    const bool concerns_this =
        seen ? *seen > state->settled() : state->in_flight == InFlight::kRemoval;
    if (!concerns_this) return Done{};
  }
  Status synced = sync_parent(name);
  // Without a parent there has been no such object, or its removal was made durable before.
  if (synced.is(Errc::kNotFound)) return Done{};
  return synced;
}

Result<std::uint64_t> Directory::highest_sequence() const {
  std::vector<Key> keys;
  if (Status s = collect(kObjects, {}, {}, keys); !s) return s.error();
  std::uint64_t highest = 0;
  for (const Key& key : keys) {
    if (const auto found = header(file_of(key))) highest = std::max(highest, found->sequence);
  }
  return highest;
}

Status Directory::collect(const std::string& directory, const std::string& prefix,
                          const std::string& from, std::vector<Key>& keys) const {
  const auto begin = keys_begin_with(std::string_view(directory).substr(
      std::min(directory.size(), std::string_view(kObjects).size() + 1)));
  if (!begin) return Done{};
  // Nothing in here can begin with the prefix, or everything comes before `from`.
  if (!begin->starts_with(prefix) && !prefix.starts_with(*begin)) return Done{};
  if (*begin < from && !from.starts_with(*begin)) return Done{};
  const auto found = files::entries(root_.get(), directory);
  if (found.is(Errc::kNotFound)) return Done{};
  if (!found) return found.error();
  for (const files::Entry& entry : *found) {
    if (entry.is_directory) {
      if (Status s = collect(directory + "/" + entry.name, prefix, from, keys); !s) return s;
    } else if (const auto part = decode_name(entry.name)) {
      Key key = *begin + *part;
      if (key.starts_with(prefix) && key > from) keys.push_back(std::move(key));
    }
  }
  return Done{};
}

Result<ListPage> Directory::list(const std::string& prefix, const std::string& from) {
  std::vector<Key> keys;
  const std::string inside = directory_of(prefix);
  const std::string start = std::string(kObjects) + (inside.empty() ? "" : "/" + inside);
  if (Status s = collect(start, prefix, from, keys); !s) return in_store(path_, s.error());
  ListPage page;
  page.cursor = settled_position().cursor();
  const std::size_t count = std::min(keys.size(), options_.page_size);
  std::partial_sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count), keys.end());
  if (count < keys.size()) page.next = keys[count - 1];
  keys.resize(count);
  for (Key& key : keys) {
    const std::string name = file_of(key);
    const auto content = files::read(root_.get(), name, kListedBytes);
    if (content.is(Errc::kNotFound)) continue;
    if (!content && !content.is(Errc::kCorrupt)) return content.error();
    page.objects.push_back({std::move(key), listed_revision(name, content),
                            content ? std::optional(age_of(content->written)) : std::nullopt});
  }
  return page;
}

Revision Directory::listed_revision(const std::string& name,
                                    const Result<files::Content>& beginning) const {
  // Unreadable objects are listed, so that a caller handles them, at an impossible revision.
  const Revision unreadable("unreadable");
  if (!beginning) return unreadable;
  const bool whole = beginning->bytes.size() == beginning->size;
  const auto found =
      whole ? decode_object(beginning->bytes) : decode_header(beginning->bytes, beginning->size);
  if (found) return found->revision();
  if (!found.is(Errc::kCorrupt)) return unreadable;
  if (whole) return damaged_revision(beginning->bytes, beginning->written);
  const auto all = files::read(root_.get(), name, kFileBytesMax);
  return all ? damaged_revision(all->bytes, all->written) : unreadable;
}

Result<Changes> Directory::changes(const std::string& prefix, const Position& since) {
  Changes out;
  out.position = {journal_.state().generation, journal_.state().sequence};
  const WatchEvent reset{WatchEvent::Kind::kReset, {}, {}, out.position.cursor()};
  const auto records = journal_.after(since);
  if (!records) return records.error();
  if (!*records) {
    out.events.push_back(reset);
    return out;
  }
  std::unordered_map<Key, std::uint64_t> last;
  for (const JournalRecord& record : **records) last[record.key] = record.sequence;
  for (const JournalRecord& record : **records) {
    if (last[record.key] != record.sequence || !record.key.starts_with(prefix)) continue;
    WatchEvent event{WatchEvent::Kind::kPut, record.key, {}, {}};
    event.cursor = Position{out.position.generation, record.sequence}.cursor();
    if (auto object = get(record.key, {})) {
      event.object = std::move(*object);
    } else if (object.is(Errc::kNotFound)) {
      event.kind = WatchEvent::Kind::kRemoved;
    } else {
      log_warn("a change cannot be read; watchers will list again",
               {{"key", record.key}, {"error", object.error().message}});
      out.events.push_back(reset);
      return out;
    }
    out.events.push_back(std::move(event));
  }
  return out;
}

Position Directory::settled_position() const {
  const auto state = journal_.read();
  if (!state) return {};
  return {state->generation, state->settled()};
}

bool Directory::may_have_changed(const Position& since) const {
  const auto state = journal_.read();
  return !state || state->in_flight != InFlight::kNothing ||
         state->generation != since.generation || state->sequence != since.sequence;
}

}  // namespace muster::file
