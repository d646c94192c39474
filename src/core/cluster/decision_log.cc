#include "core/cluster/decision_log.h"

#include <algorithm>
#include <utility>

namespace muster::cluster {

void DecisionLog::add(Decision&& decision) {
  decision.seq = ++newest_;
  enter(std::move(decision));
  // By number, not by count: after a snapshot there may be gaps.
  while (latest_.front().entry->seq + recent_ <= newest_) retire_oldest_recent();
  while (size() > capacity_) drop_oldest();
}

void DecisionLog::enter(Decision&& decision) {
  Subject& subject = subjects_[decision.subject];
  subject.last.push_back(decision.seq);
  if (subject.last.size() > kPerSubject) {
    // Among the recent ones it stays until it leaves them.
    older_.erase(subject.last.front());
    subject.last.erase(subject.last.begin());
  }
  latest_.push_back({std::make_shared<const Decision>(std::move(decision)), &subject});
}

void DecisionLog::retire_oldest_recent() {
  Item& leaving = latest_.front();
  const std::uint64_t seq = leaving.entry->seq;
  // It stays only as one of the last about its subject.
  if (leaving.subject->last.front() <= seq) {
    older_.emplace_hint(older_.end(), seq, std::move(leaving));
  }
  latest_.pop_front();
}

void DecisionLog::drop_oldest() {
  if (!older_.empty()) {
    forget(older_.begin()->second);
    older_.erase(older_.begin());
  } else {
    forget(latest_.front());
    latest_.pop_front();
  }
}

void DecisionLog::forget(const Item& item) {
  std::vector<std::uint64_t>& last = item.subject->last;
  if (last.front() != item.entry->seq) return;
  last.erase(last.begin());
  if (last.empty()) subjects_.erase(item.entry->subject);
}

const DecisionLog::Entry& DecisionLog::at(std::uint64_t seq) const {
  const auto older = older_.find(seq);
  if (older != older_.end()) return older->second.entry;
  return std::lower_bound(
             latest_.begin(), latest_.end(), seq,
             [](const Item& item, std::uint64_t wanted) { return item.entry->seq < wanted; })
      ->entry;
}

std::uint64_t DecisionLog::complete_from() const {
  if (latest_.empty()) return 0;
  const std::uint64_t recent = newest_ > recent_ ? newest_ - recent_ + 1 : 1;
  return std::max(recent, older_.empty() ? latest_.front().entry->seq : std::uint64_t{1});
}

std::vector<DecisionLog::Entry> DecisionLog::after(std::uint64_t seq, std::size_t limit) const {
  std::vector<Entry> found;
  for (auto it = older_.upper_bound(seq); it != older_.end() && found.size() < limit; ++it) {
    found.push_back(it->second.entry);
  }
  auto it = std::upper_bound(
      latest_.begin(), latest_.end(), seq,
      [](std::uint64_t wanted, const Item& item) { return wanted < item.entry->seq; });
  for (; it != latest_.end() && found.size() < limit; ++it) found.push_back(it->entry);
  return found;
}

std::vector<DecisionLog::Entry> DecisionLog::last(std::size_t limit) const {
  std::vector<Entry> found;
  for (auto it = latest_.rbegin(); it != latest_.rend() && found.size() < limit; ++it) {
    found.push_back(it->entry);
  }
  for (auto it = older_.rbegin(); it != older_.rend() && found.size() < limit; ++it) {
    found.push_back(it->second.entry);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<DecisionLog::Entry> DecisionLog::about(const std::string& subject) const {
  std::vector<Entry> found;
  const auto known = subjects_.find(subject);
  if (known == subjects_.end()) return found;
  if (known->second.last.size() < kPerSubject) {
    for (const std::uint64_t seq : known->second.last) found.push_back(at(seq));
    return found;
  }
  // Perhaps there are more of it among the recent ones.
  for (const std::uint64_t seq : known->second.last) {
    if (older_.contains(seq)) found.push_back(at(seq));
  }
  for (const Item& item : latest_) {
    if (item.subject == &known->second) found.push_back(item.entry);
  }
  return found;
}

DecisionLog::Entry DecisionLog::last_about(const std::string& subject) const {
  const auto known = subjects_.find(subject);
  return known == subjects_.end() ? nullptr : at(known->second.last.back());
}

Status DecisionLog::load(Decision decision) {
  if (decision.seq <= newest_ || size() >= capacity_) {
    return {Errc::kCorrupt, "the cluster's snapshot holds decisions out of order"};
  }
  newest_ = decision.seq;
  enter(std::move(decision));
  while (latest_.front().entry->seq + recent_ <= newest_) retire_oldest_recent();
  return Done{};
}

}  // namespace muster::cluster
