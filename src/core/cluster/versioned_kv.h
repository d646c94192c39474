#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/membership/node.h"

namespace muster::cluster {

using membership::LogTime;

/// The place in the log that changed a key: entry index, then position in the entry. Never 0. Rises
/// with every change of the whole store.
using KvRevision = std::uint64_t;
inline constexpr unsigned kPositionBits = 16;
[[nodiscard]] constexpr KvRevision kv_revision(std::uint64_t index, std::size_t position) {
  return index << kPositionBits | position;
}

/// The limits of the store. Checked before a write is proposed, never when it is applied.
inline constexpr std::size_t kKeyBytesMax = 1024;
inline constexpr std::size_t kValueBytesMax = 256 * 1024;
inline constexpr std::size_t kStoreBytesMax = 256 * 1024 * 1024;
[[nodiscard]] Status validate_key(std::string_view key);

struct KvEntry {
  std::shared_ptr<const std::string> value;
  KvRevision revision = 0;
  LogTime written_at{};
};

struct AnyVersion {
  bool operator==(const AnyVersion&) const = default;
};
struct Absent {
  bool operator==(const Absent&) const = default;
};
struct AtRevision {
  KvRevision revision = 0;
  bool operator==(const AtRevision&) const = default;
};
/// The condition on a key for a write.
using KvCondition = std::variant<AnyVersion, Absent, AtRevision>;

/// One change. `value` is null if the key was removed.
struct KvEvent {
  std::string key;
  KvEntry entry;
  [[nodiscard]] bool removed() const { return entry.value == nullptr; }
};

/// Keys with values and revisions: the store that musterd serves, as every replica holds it.
///
/// Guarantees: the same writes at the same places give the same content everywhere; a
/// refused write changes nothing. It remembers its latest changes, within limits, so that a
/// watch can resume; how far back that reaches may differ between replicas. Pure. Threads:
/// one.
class VersionedKv {
 public:
  class Image;

  VersionedKv() = default;
  VersionedKv(VersionedKv&&) = default;
  VersionedKv& operator=(VersionedKv&&) = default;

  /// Null if there is none. Valid until the next change.
  [[nodiscard]] const KvEntry* find(const std::string& key) const;
  [[nodiscard]] Status check(const std::string& key, const KvCondition& when) const;

  void put(const std::string& key, std::string value, KvRevision revision, LogTime time);
  /// False if there is no such key.
  bool remove(const std::string& key, KvRevision revision, LogTime time);

  /// Calls `f(key, entry)` for the keys with `prefix` after `after`, in byte order, until it
  /// returns false.
  template <typename F>
  void scan(std::string_view prefix, const std::string& after, F&& f) const {
    const bool from_start = prefix.compare(after) > 0;
    auto it = from_start ? entries_->lower_bound(prefix) : entries_->upper_bound(after);
    for (; it != entries_->end() && it->first.starts_with(prefix); ++it) {
      if (!f(it->first, it->second)) return;
    }
  }

  /// Of the latest change.
  [[nodiscard]] KvRevision revision() const { return revision_; }
  [[nodiscard]] std::size_t size() const { return entries_->size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Whether every change after `revision` is remembered.
  [[nodiscard]] bool remembers(KvRevision revision) const { return revision >= forgotten_; }
  /// Calls `f(event)` for every remembered change after `revision`, in order, until it returns
  /// false.
  template <typename F>
  void replay(KvRevision revision, F&& f) const {
    auto it = std::partition_point(history_.begin(), history_.end(), [&](const KvEvent& event) {
      return event.entry.revision <= revision;
    });
    for (; it != history_.end(); ++it) {
      if (!f(*it)) return;
    }
  }

  /// The content as it is now, to be read piece by piece while the store changes.
  [[nodiscard]] std::unique_ptr<Image> freeze();

  /// Adds one from a snapshot. kCorrupt if a key comes twice or a revision is above `revision`.
  Status load(std::string key, KvEntry entry);
  Status finish_load(KvRevision revision);

 private:
  using Entries = std::map<std::string, KvEntry, std::less<>>;
  struct Preserved;

  void change(const std::string& key);
  void remember(KvEvent event);

  /// Shared with images, which may outlive a state that was replaced.
  std::shared_ptr<Entries> entries_ = std::make_shared<Entries>();
  std::vector<std::weak_ptr<Preserved>> images_;
  KvRevision revision_ = 0;
  std::size_t bytes_ = 0;
  std::deque<KvEvent> history_;
  std::size_t history_bytes_ = 0;
  KvRevision forgotten_ = 0;  ///< Changes up to here are no longer all in the history.
};

/// The content at one moment, key by key. It costs nothing to make; while it is read, each key that
/// changes ahead of it is copied once. Threads: that of the store.
class VersionedKv::Image {
 public:
  Image(std::shared_ptr<const Entries> entries, std::shared_ptr<Preserved> preserved,
        KvRevision revision);

  [[nodiscard]] KvRevision revision() const { return revision_; }
  /// The next key in byte order; none at the end.
  [[nodiscard]] std::optional<std::pair<std::string, KvEntry>> next();

 private:
  std::shared_ptr<const Entries> entries_;
  std::shared_ptr<Preserved> preserved_;
  KvRevision revision_;
};

}  // namespace muster::cluster
