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
/// wipe out why another one is where it is. Never more than `capacity` in all: the oldest go
/// first. Pure; one thread.
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

  /// Gives it the next number. Takes constant time, so that it costs a command next to nothing.
  void add(Decision&& decision);

  [[nodiscard]] std::size_t size() const { return latest_.size() + older_.size(); }
  [[nodiscard]] std::uint64_t newest() const { return newest_; }
  /// From here on every decision is here; 0 while there is none.
  [[nodiscard]] std::uint64_t complete_from() const;
  /// Those after `seq`, rising, at most `limit`.
  [[nodiscard]] std::vector<Entry> after(std::uint64_t seq, std::size_t limit) const;
  /// The last `limit`, rising.
  [[nodiscard]] std::vector<Entry> last(std::size_t limit) const;
  /// All that is known about a subject, rising; those within the last kRecent are found, too, when
  /// there are more than kPerSubject of them.
  [[nodiscard]] std::vector<Entry> about(const std::string& subject) const;

  /// The newest of those; null when there is none.
  [[nodiscard]] Entry last_about(const std::string& subject) const;

  /// All of them, rising. What was handed out does not change.
  [[nodiscard]] std::vector<Entry> freeze() const { return last(size()); }
  /// From a snapshot, rising. kCorrupt when it does not follow.
  [[nodiscard]] Status load(Decision decision);

 private:
  /// What is known about one subject: the numbers of its last kPerSubject decisions, rising.
  struct Subject {
    std::vector<std::uint64_t> last;
  };
  struct Item {
    Entry entry;
    Subject* subject;  ///< In `subjects_`, whose elements stay where they are.
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
  std::map<std::uint64_t, Item> older_;  ///< What else is kept.
  std::unordered_map<std::string, Subject> subjects_;
};

}  // namespace muster::cluster
