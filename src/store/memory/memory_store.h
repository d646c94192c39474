#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "store/store.h"

namespace muster {

/// The objects of a memory store, separate from its users: several stores, each on its own loop of
/// one thread, may share them. The reference for the behaviour of the other stores.
class MemoryObjects {
 public:
  struct Entry {
    std::string body;
    std::uint64_t revision;
    MonoTime written;
  };
  struct Change {
    Key key;
    std::uint64_t revision;
    bool removed;
  };

  [[nodiscard]] Result<Object> get(const Key& key, const std::optional<Revision>& unless,
                                   MonoTime now) const;
  Result<Revision> put(const Key& key, std::string body, const Precondition& when,
                       const std::optional<Guard>& guard, MonoTime now);
  Status remove(const Key& key, const std::optional<Revision>& when);
  /// Restores an object with its old revision, as a backup does where revisions are derived from
  /// contents.
  void restore(const Key& key, Entry entry);
  /// Replaces all objects by an older copy, without notice to watchers. With `count_again`,
  /// later revisions continue from the copy, as etcd's do; otherwise no revision is issued
  /// twice.
  void go_back(const MemoryObjects& copy, bool count_again);
  [[nodiscard]] ListPage list(const std::string& prefix, const std::string& from,
                              MonoTime now) const;

  [[nodiscard]] const std::map<Key, Entry>& entries() const { return entries_; }
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  [[nodiscard]] std::uint64_t last_removal() const { return last_removal_; }
  /// The objects under `prefix` written after `revision`, in the order of their writes.
  [[nodiscard]] std::vector<Change> changes_since(const std::string& prefix,
                                                  std::uint64_t revision) const;
  /// Calls `on_change` after every change, in order. The returned id identifies the subscriber.
  std::uint64_t subscribe(std::function<void(const Change&)> on_change);
  void unsubscribe(std::uint64_t id) { subscribers_.erase(id); }

  /// The number of objects in one page of list(); small in tests of pagination.
  std::size_t page_size = 1000;

 private:
  [[nodiscard]] Status holds(const Key& key, const Precondition& when) const;
  void announce(const Change& change);

  std::map<Key, Entry> entries_;
  std::uint64_t revision_ = 0;
  std::uint64_t last_removal_ = 0;
  std::uint64_t next_subscriber_ = 1;
  std::map<std::uint64_t, std::function<void(const Change&)>> subscribers_;
};

/// The store `memory:`, for tests and single processes. It loses everything with the process.
class MemoryStore final : public ObjectStore {
 public:
  MemoryStore(Loop& loop, std::shared_ptr<MemoryObjects> objects)
      : loop_(loop), objects_(std::move(objects)) {}
  explicit MemoryStore(Loop& loop) : MemoryStore(loop, std::make_shared<MemoryObjects>()) {}

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::string describe() const override { return "memory:"; }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override;
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override;
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override;
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override;
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override;
  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override;

 private:
  /// Calls `done` with the outcome of `work`; after the deadline `work` does not run.
  template <typename T, typename Work>
  void complete(Deadline by, Callback<T> done, Work work) {
    Result<T> result(Errc::kUnavailable, "the deadline had passed before the call");
    if (loop_.now() <= by) result = work();
    loop_.post(lifetime_.wrap([done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    }));
  }

  Loop& loop_;
  std::shared_ptr<MemoryObjects> objects_;
  Lifetime lifetime_;
};

}  // namespace muster
