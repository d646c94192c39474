#include "core/cluster/decision_log.h"

#include <algorithm>
#include <utility>

namespace muster::cluster {

void DecisionLog::add(Decision decision) {
  decision.seq = ++newest_;
  index(decision);
  all_.emplace_hint(all_.end(), decision.seq,
                    std::make_shared<const Decision>(std::move(decision)));
  if (newest_ > recent_) {
    // One leaves the recent ones: it stays only as one of the last about its subject.
    const auto leaving = all_.find(newest_ - recent_);
    if (leaving != all_.end()) {
      const auto kept = by_subject_.find(leaving->second->subject);
      if (kept == by_subject_.end() || kept->second.front() > leaving->first) all_.erase(leaving);
    }
  }
  while (all_.size() > capacity_) drop(all_.begin()->first);
}

void DecisionLog::index(const Decision& decision) {
  std::vector<std::uint64_t>& last = by_subject_[decision.subject];
  last.push_back(decision.seq);
  if (last.size() <= kPerSubject) return;
  const std::uint64_t oldest = last.front();
  last.erase(last.begin());
  if (oldest + recent_ <= newest_) all_.erase(oldest);
}

void DecisionLog::drop(std::uint64_t seq) {
  const auto found = all_.find(seq);
  const auto subject = by_subject_.find(found->second->subject);
  if (subject != by_subject_.end() && subject->second.front() == seq) {
    subject->second.erase(subject->second.begin());
    if (subject->second.empty()) by_subject_.erase(subject);
  }
  all_.erase(found);
}

std::uint64_t DecisionLog::complete_from() const {
  if (all_.empty()) return 0;
  const std::uint64_t recent = newest_ > recent_ ? newest_ - recent_ + 1 : 1;
  return std::max(recent, all_.begin()->first);
}

std::vector<DecisionLog::Entry> DecisionLog::after(std::uint64_t seq, std::size_t limit) const {
  std::vector<Entry> found;
  for (auto it = all_.upper_bound(seq); it != all_.end() && found.size() < limit; ++it) {
    found.push_back(it->second);
  }
  return found;
}

std::vector<DecisionLog::Entry> DecisionLog::last(std::size_t limit) const {
  std::vector<Entry> found;
  for (auto it = all_.rbegin(); it != all_.rend() && found.size() < limit; ++it) {
    found.push_back(it->second);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<DecisionLog::Entry> DecisionLog::about(const std::string& subject) const {
  std::vector<Entry> found;
  const auto indexed = by_subject_.find(subject);
  if (indexed == by_subject_.end()) return found;
  if (indexed->second.size() < kPerSubject) {
    for (const std::uint64_t seq : indexed->second) found.push_back(all_.at(seq));
    return found;
  }
  // Perhaps there are more of it among the recent ones.
  for (auto it = all_.begin(); it != all_.end(); ++it) {
    if (it->second->subject == subject) found.push_back(it->second);
  }
  return found;
}

DecisionLog::Entry DecisionLog::last_about(const std::string& subject) const {
  const auto indexed = by_subject_.find(subject);
  return indexed == by_subject_.end() ? nullptr : all_.at(indexed->second.back());
}

Status DecisionLog::load(Decision decision) {
  if (decision.seq <= newest_ || all_.size() >= capacity_) {
    return {Errc::kCorrupt, "the cluster's snapshot holds decisions out of order"};
  }
  newest_ = decision.seq;
  std::vector<std::uint64_t>& last = by_subject_[decision.subject];
  last.push_back(decision.seq);
  if (last.size() > kPerSubject) last.erase(last.begin());
  all_.emplace_hint(all_.end(), decision.seq,
                    std::make_shared<const Decision>(std::move(decision)));
  return Done{};
}

}  // namespace muster::cluster
