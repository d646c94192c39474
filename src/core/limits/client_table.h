#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace muster {

/// One Value per client, for at most `capacity` clients, however many come.
///
/// In a full table a newcomer takes the place of the least recently used client, but only if the
/// caller allows that client's value to be forgotten: a bucket that is full again, a count of zero.
/// Otherwise the newcomer gets no entry. So no client gains by being evicted, which plain eviction
/// would allow: a client with more names than the table has places would find a fresh limit each
/// time. Only the least recently used entry is examined, so every call takes constant time;
/// finished entries should be erased at once.
///
/// Memory is bounded in the number of clients; the caller bounds the length of their names.
/// Threads: one.
template <typename Value>
class ClientTable {
 public:
  /// Requires: `capacity` is not 0.
  explicit ClientTable(std::size_t capacity) : capacity_(capacity) { MUSTER_CHECK(capacity > 0); }
  ClientTable(const ClientTable&) = delete;
  ClientTable& operator=(const ClientTable&) = delete;

  /// The client's value, now the most recently used, or null. Valid until the entry goes.
  [[nodiscard]] Value* find(std::string_view client) {
    const auto found = index_.find(client);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }

  /// Like find, but adds a missing client with `make()`. Null if the table is full and
  /// `forgettable(value)` denies the least recently used entry.
  template <typename Make, typename Forgettable>
  [[nodiscard]] Value* find_or_add(std::string_view client, Make make, Forgettable forgettable) {
    if (Value* known = find(client)) return known;
    if (entries_.size() >= capacity_) {
      if (!forgettable(std::as_const(entries_.back().value))) return nullptr;
      remove(std::prev(entries_.end()));
    }
    entries_.push_front(Entry{std::string(client), make()});
    index_.emplace(entries_.front().client, entries_.begin());
    return &entries_.front().value;
  }

  void erase(std::string_view client) {
    const auto found = index_.find(client);
    if (found != index_.end()) remove(found->second);
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  struct Entry {
    std::string client;
    Value value;
  };
  using Entries = std::list<Entry>;

  void remove(typename Entries::iterator entry) {
    index_.erase(entry->client);
    entries_.erase(entry);
  }

  std::size_t capacity_;
  Entries entries_;  // The most recently used first.
  // Keys view the names in entries_, whose nodes stay where they are.
  std::unordered_map<std::string_view, typename Entries::iterator> index_;
};

}  // namespace muster
