#include "core/cluster/versioned_kv.h"

#include <utility>

namespace muster::cluster {
namespace {

/// Enough for a watcher that was away for a moment; more would only delay its fresh list.
constexpr std::size_t kHistoryEvents = 10'000;
constexpr std::size_t kHistoryBytes = 16 * 1024 * 1024;

std::size_t weight(const std::string& key, const KvEntry& entry) {
  return key.size() + (entry.value ? entry.value->size() : 0);
}

}  // namespace

Status validate_key(std::string_view key) {
  const auto invalid = [](const char* rule) {
    return Status(Errc::kInvalid, std::string("key ") + rule);
  };
  if (key.empty()) return invalid("must not be empty");
  if (key.size() > kKeyBytesMax) return invalid("must have at most 1024 bytes");
  if (key.front() == '/' || key.back() == '/' || key.find("//") != std::string_view::npos) {
    return invalid("must have no empty part between, before or after '/'");
  }
  if (key.find('\0') != std::string_view::npos) return invalid("must not hold a zero byte");
  return Done{};
}

/// What an image must still find as it was, though it has changed since.
struct VersionedKv::Preserved {
  std::string after;  ///< The image has passed this key.
  bool begun = false;
  std::map<std::string, std::optional<KvEntry>, std::less<>> keys;

  [[nodiscard]] bool passed(const std::string& key) const { return begun && key <= after; }
};

const KvEntry* VersionedKv::find(const std::string& key) const {
  const auto found = entries_->find(key);
  return found == entries_->end() ? nullptr : &found->second;
}

Status VersionedKv::check(const std::string& key, const KvCondition& when) const {
  const KvEntry* entry = find(key);
  if (std::holds_alternative<Absent>(when) && entry != nullptr) {
    return {Errc::kConflict, "the key \"" + key + "\" exists already"};
  }
  if (const auto* at = std::get_if<AtRevision>(&when)) {
    if (entry == nullptr) return {Errc::kConflict, "the key \"" + key + "\" does not exist"};
    if (entry->revision != at->revision) {
      return {Errc::kConflict, "the key \"" + key + "\" has changed since that revision"};
    }
  }
  return Done{};
}

/// To be called before a key changes.
void VersionedKv::change(const std::string& key) {
  const KvEntry* entry = find(key);
  if (entry != nullptr) bytes_ -= weight(key, *entry);
  std::erase_if(images_, [](const auto& image) { return image.expired(); });
  for (const auto& weak : images_) {
    const auto image = weak.lock();
    if (!image->passed(key)) {
      image->keys.try_emplace(key, entry != nullptr ? std::optional(*entry) : std::nullopt);
    }
  }
}

void VersionedKv::put(const std::string& key, std::string value, KvRevision revision,
                      LogTime time) {
  change(key);
  KvEntry entry{std::make_shared<const std::string>(std::move(value)), revision, time};
  bytes_ += weight(key, entry);
  revision_ = revision;
  (*entries_)[key] = entry;
  remember({key, std::move(entry)});
}

bool VersionedKv::remove(const std::string& key, KvRevision revision, LogTime time) {
  if (find(key) == nullptr) return false;
  change(key);
  entries_->erase(key);
  revision_ = revision;
  remember({key, {nullptr, revision, time}});
  return true;
}

void VersionedKv::remember(KvEvent event) {
  history_bytes_ += weight(event.key, event.entry);
  history_.push_back(std::move(event));
  while (history_.size() > kHistoryEvents || history_bytes_ > kHistoryBytes) {
    forgotten_ = history_.front().entry.revision;
    history_bytes_ -= weight(history_.front().key, history_.front().entry);
    history_.pop_front();
  }
}

std::unique_ptr<VersionedKv::Image> VersionedKv::freeze() {
  auto preserved = std::make_shared<Preserved>();
  images_.push_back(preserved);
  return std::make_unique<Image>(entries_, std::move(preserved), revision_);
}

Status VersionedKv::load(std::string key, KvEntry entry) {
  bytes_ += weight(key, entry);
  if (!entries_->emplace(std::move(key), std::move(entry)).second) {
    return {Errc::kCorrupt, "the snapshot holds one key of the store twice"};
  }
  return Done{};
}

Status VersionedKv::finish_load(KvRevision revision) {
  for (const auto& [key, entry] : *entries_) {
    if (entry.revision == 0 || entry.revision > revision) {
      return {Errc::kCorrupt, "the snapshot holds a key with a revision that never was"};
    }
  }
  revision_ = revision;
  forgotten_ = revision;
  return Done{};
}

VersionedKv::Image::Image(std::shared_ptr<const Entries> entries,
                          std::shared_ptr<Preserved> preserved, KvRevision revision)
    : entries_(std::move(entries)), preserved_(std::move(preserved)), revision_(revision) {}

std::optional<std::pair<std::string, KvEntry>> VersionedKv::Image::next() {
  for (;;) {
    const auto live =
        preserved_->begun ? entries_->upper_bound(preserved_->after) : entries_->begin();
    auto& kept = preserved_->keys;
    const bool from_kept =
        !kept.empty() && (live == entries_->end() || kept.begin()->first <= live->first);
    if (!from_kept && live == entries_->end()) return {};
    preserved_->after = from_kept ? kept.begin()->first : live->first;
    preserved_->begun = true;
    if (!from_kept) return std::pair(live->first, live->second);
    auto first = kept.extract(kept.begin());
    if (first.mapped()) return std::pair(std::move(first.key()), std::move(*first.mapped()));
    // The key did not exist when the image was made.
  }
}

}  // namespace muster::cluster
