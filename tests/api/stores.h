#pragma once

#include <muster/store.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

/// Stores as programs write them: a correct one, and some with one fault each.
namespace api_test {

namespace pub = muster::api_v1;

/// What several handles share.
struct Shelf {
  std::mutex mutex;
  std::map<std::string, pub::StoredObject> objects;
  std::uint64_t revision = 0;
  std::condition_variable another;
  std::map<std::string, int> compared;
};

class ShelfStore : public pub::Store {
 public:
  explicit ShelfStore(std::shared_ptr<Shelf> shelf) : shelf_(std::move(shelf)) {}

  pub::Result<pub::StoredObject> get(const std::string& key, pub::Duration) override {
    const std::lock_guard lock(shelf_->mutex);
    const auto found = shelf_->objects.find(key);
    if (found == shelf_->objects.end()) return {pub::Code::kNotFound, "there is no " + key};
    return found->second;
  }
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition& when, pub::Duration) override {
    const std::lock_guard lock(shelf_->mutex);
    const auto found = shelf_->objects.find(key);
    std::optional<std::string> current;
    if (found != shelf_->objects.end()) current = found->second.revision;
    if (!when.holds(current)) return {pub::Code::kConflict, key + " has changed"};
    const std::string revision = "r" + std::to_string(++shelf_->revision);
    shelf_->objects[key] = {body, revision};
    return revision;
  }
  pub::Status remove(const std::string& key, const std::optional<std::string>& revision,
                     pub::Duration) override {
    const std::lock_guard lock(shelf_->mutex);
    const auto found = shelf_->objects.find(key);
    if (found == shelf_->objects.end()) return {pub::Code::kNotFound, "there is no " + key};
    if (revision && *revision != found->second.revision)
      return {pub::Code::kConflict, key + " has changed"};
    shelf_->objects.erase(found);
    return pub::Done{};
  }
  pub::Result<std::vector<pub::StoredKey>> list(const std::string& prefix, const std::string& after,
                                                std::size_t most, pub::Duration) override {
    const std::lock_guard lock(shelf_->mutex);
    std::vector<pub::StoredKey> keys;
    for (auto it = shelf_->objects.lower_bound(prefix);
         it != shelf_->objects.end() && it->first.starts_with(prefix) && keys.size() < most; ++it) {
      if (it->first > after) keys.push_back({it->first, it->second.revision});
    }
    return keys;
  }

 protected:
  std::shared_ptr<Shelf> shelf_;
};

/// Accepts conditions and ignores them.
struct CarelessStore : ShelfStore {
  using ShelfStore::ShelfStore;
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition&, pub::Duration left) override {
    return ShelfStore::put(key, body, {}, left);
  }
};

/// Acknowledges every write and keeps only the first of each key.
struct ForgetfulStore : ShelfStore {
  using ShelfStore::ShelfStore;
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition& when, pub::Duration left) override {
    if (when.kind == pub::WriteCondition::Kind::kAbsent)
      return ShelfStore::put(key, body, when, left);
    const auto now = get(key, left);
    std::optional<std::string> current;
    if (now) current = now->revision;
    if (!when.holds(current)) return {pub::Code::kConflict, key + " has changed"};
    return "r" + std::to_string(++shelf_->revision);
  }
};

/// Counts the versions of each key from 1, also of a key that was removed.
struct CountingStore : ShelfStore {
  using ShelfStore::ShelfStore;
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition& when, pub::Duration left) override {
    const auto now = get(key, left);
    std::optional<std::string> current;
    if (now) current = now->revision;
    if (!when.holds(current)) return {pub::Code::kConflict, key + " has changed"};
    const std::lock_guard lock(shelf_->mutex);
    const std::string revision = std::to_string(current ? std::stoi(*current) + 1 : 1);
    shelf_->objects[key] = {body, revision};
    return revision;
  }
};

/// Uses one revision for every write.
struct UniformStore : ShelfStore {
  using ShelfStore::ShelfStore;
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition& when, pub::Duration left) override {
    auto made = ShelfStore::put(key, body, when, left);
    if (!made) return made;
    const std::lock_guard lock(shelf_->mutex);
    shelf_->objects[key].revision = "same";
    return std::string("same");
  }
};

/// Compares, waits until another writer of the key has compared, too, and writes. Only keys that
/// begin with "round/" are that slow.
struct RacyStore : ShelfStore {
  using ShelfStore::ShelfStore;
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition& when, pub::Duration left) override {
    const auto now = get(key, left);
    std::optional<std::string> current;
    if (now) current = now->revision;
    if (!when.holds(current)) return {pub::Code::kConflict, key + " has changed"};
    if (key.starts_with("round/")) {
      std::unique_lock lock(shelf_->mutex);
      const int others = ++shelf_->compared[key];
      shelf_->another.notify_all();
      shelf_->another.wait_for(lock, std::chrono::milliseconds(50),
                               [&] { return shelf_->compared[key] > others; });
    }
    return ShelfStore::put(key, body, {}, left);
  }
};

/// Lists as `wrong` makes of a right list.
class WrongPagesStore : public ShelfStore {
 public:
  using Pages = std::function<std::vector<pub::StoredKey>(
      const std::function<std::vector<pub::StoredKey>(
          const std::string& prefix, const std::string& after, std::size_t most)>& right,
      const std::string& prefix, const std::string& after, std::size_t most)>;
  WrongPagesStore(std::shared_ptr<Shelf> shelf, Pages wrong)
      : ShelfStore(std::move(shelf)), wrong_(std::move(wrong)) {}
  pub::Result<std::vector<pub::StoredKey>> list(const std::string& prefix, const std::string& after,
                                                std::size_t most, pub::Duration left) override {
    const auto right = [&](const std::string& p, const std::string& a, std::size_t m) {
      return ShelfStore::list(p, a, m, left).value();
    };
    return wrong_(right, prefix, after, most);
  }

 private:
  Pages wrong_;
};

/// What blocks calls until the end of the test, or until it is opened.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Returns when `count` calls have come so far.
  void wait_for_callers(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

/// Every write blocks at the gate.
class BlockingStore : public ShelfStore {
 public:
  BlockingStore(std::shared_ptr<Shelf> shelf, std::shared_ptr<Gate> gate, int threads = 1)
      : ShelfStore(std::move(shelf)), gate_(std::move(gate)), threads_(threads) {}
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition& when, pub::Duration left) override {
    gate_->wait();
    return ShelfStore::put(key, body, when, left);
  }
  pub::StoreTraits traits() const override { return {.threads = threads_}; }

 private:
  std::shared_ptr<Gate> gate_;
  int threads_;
};

/// Answers as the test wants; a scripted put() writes nothing.
class ScriptedStore : public ShelfStore {
 public:
  using Put = std::function<pub::Result<std::string>()>;
  using Get = std::function<pub::Result<pub::StoredObject>(pub::Result<pub::StoredObject> right)>;
  explicit ScriptedStore(std::shared_ptr<Shelf> shelf) : ShelfStore(std::move(shelf)) {}
  pub::Result<pub::StoredObject> get(const std::string& key, pub::Duration left) override {
    auto right = ShelfStore::get(key, left);
    return on_get ? on_get(std::move(right)) : right;
  }
  pub::Result<std::string> put(const std::string& key, const std::string& body,
                               const pub::WriteCondition& when, pub::Duration left) override {
    return on_put ? on_put() : ShelfStore::put(key, body, when, left);
  }
  Put on_put;
  Get on_get;
};

/// Registers a new scheme for `open` and returns an address with it.
inline std::string own_address(const std::function<std::shared_ptr<pub::Store>()>& open) {
  static int schemes = 0;
  const std::string scheme = "own" + std::to_string(++schemes);
  (void)pub::register_scheme(scheme, [open](const pub::StoreAddress&) { return open(); }).value();
  return scheme + "://here";
}

}  // namespace api_test
