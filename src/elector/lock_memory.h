#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "core/election/election.h"

namespace muster {

/// What a process has observed of permits that others hold. Attempts that are shorter than a ttl
/// add up to one by it: without it, one that tries again and again would observe a dead holder anew
/// each time, and never long enough. Of at most 1000 permits; when there are more, all are
/// forgotten, which costs a ttl. Threads: one, with one clock.
class LockMemory {
 public:
  /// `history` is that of the store: revisions of another one mean nothing.
  [[nodiscard]] ElectionObservation recall(const std::string& permit, std::uint64_t history) const {
    const auto found = seen_.find(permit);
    if (found == seen_.end() || found->second.history != history) return {};
    return found->second.observed;
  }
  void keep(const std::string& permit, const ElectionObservation& observed, std::uint64_t history) {
    if (seen_.size() >= kPermitsKept) seen_.clear();
    seen_[permit] = {observed, history};
  }
  void forget(const std::string& permit) { seen_.erase(permit); }

 private:
  static constexpr std::size_t kPermitsKept = 1000;
  struct Seen {
    ElectionObservation observed;
    std::uint64_t history = 0;
  };
  std::map<std::string, Seen> seen_;
};

}  // namespace muster
