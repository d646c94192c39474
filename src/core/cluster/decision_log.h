#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "core/cluster/decision.h"

namespace muster::cluster {

/// The latest decisions of a cluster, the same on every server: the last kRecent of all, and of
/// older ones the last kPerSubject about each subject, so that a storm about some nodes does not
/// erase the history of another one. At most `capacity` in all; the oldest are dropped first. Pure.
/// Threads: one.
class DecisionLog {
 public:
  static constexpr std::size_t kRecent = 4096;
  static constexpr std::size_t kPerSubject = 16;
  static constexpr std::size_t kCapacity = 65'536;
  using Entry = std::shared_ptr<const Decision>;

  explicit DecisionLog(std::size_t recent = kRecent, std::size_t capacity = kCapacity)
      : recent_(recent), capacity_(capacity) {}

  DecisionLog(DecisionLog&&) = default;
  DecisionLog& operator=(DecisionLog&&) = default;

  /// Adds it with the next number, in constant time, so that it adds little to a command's cost.
  void add(Decision&& decision);

  [[nodiscard]] std::size_t size() const { return latest_.size() + older_.size(); }
  [[nodiscard]] std::uint64_t newest() const { return newest_; }
  /// From this number on every decision is kept; 0 if there is none.
  [[nodiscard]] std::uint64_t complete_from() const;
  /// Those after `seq`, rising, at most `limit`.
  [[nodiscard]] std::vector<Entry> after(std::uint64_t seq, std::size_t limit) const;
  /// The last `limit`, rising.
  [[nodiscard]] std::vector<Entry> last(std::size_t limit) const;
  /// All known decisions about a subject, rising; including those within the last kRecent, even if
  /// there are more than kPerSubject.
  [[nodiscard]] std::vector<Entry> about(const std::string& subject) const;

  /// The newest of those; null if there is none.
  [[nodiscard]] Entry last_about(const std::string& subject) const;

  /// All of them, rising. The result does not change later.
  [[nodiscard]] std::vector<Entry> freeze() const { return last(size()); }
  /// Adds one from a snapshot, rising. kCorrupt if it is out of order.
  [[nodiscard]] Status load(Decision decision);

 private:
  /// The known decisions about one subject: the numbers of its last kPerSubject, rising.
  struct Subject {
    std::vector<std::uint64_t> last;
  };
  struct Item {
    Entry entry;
    Subject* subject;  ///< In `subjects_`, whose elements have stable addresses.
  };

  void enter(Decision&& decision);
  void retire_oldest_recent();
  void drop_oldest();
  void forget(const Item& item);
  [[nodiscard]] const Entry& at(std::uint64_t seq) const;

  std::size_t recent_;
  std::size_t capacity_;
  std::uint64_t newest_ = 0;
  std::deque<Item> latest_;              ///< The recent ones, without gaps once it is full.
  std::map<std::uint64_t, Item> older_;  ///< All other kept ones.
  std::unordered_map<std::string, Subject> subjects_;
};

}  // namespace muster::cluster
