#include "core/security/revocations.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster::security {
namespace {

/// An authority's clock may be ahead of ours by this much.
constexpr Duration kSkew = 5min;

Error corrupt(const IssuerRevocations& list, const std::string& what) {
  return {Errc::kCorrupt, "the revocation list of " + list.issuer + " " + what};
}

/// Two lists under one name: the authority has changed its key. Both hold.
void merge(IssuerRevocations& into, IssuerRevocations&& other) {
  into.this_update = std::max(into.this_update, other.this_update);
  into.next_update = std::min(into.next_update, other.next_update);
  into.serials.merge(other.serials);
}

}  // namespace

Status Revocations::check(const IssuerRevocations& list, WallTime wall) const {
  if (list.this_update > wall + std::chrono::ceil<std::chrono::milliseconds>(kSkew)) {
    return corrupt(list, "is not in force yet; compare the clocks of this machine and of its CA");
  }
  if (wall >= list.next_update) {
    return corrupt(list, "has expired; have its CA issue a new one");
  }
  const auto known = newest_.find({list.issuer, list.key});
  if (known != newest_.end() && list.this_update < known->second) {
    return corrupt(list, "is older than one accepted before");
  }
  return Done{};
}

void Revocations::remember(const std::vector<RevocationMark>& marks) {
  for (const RevocationMark& mark : marks) {
    WallTime& newest = newest_.try_emplace({mark.issuer, mark.key}, mark.this_update).first->second;
    newest = std::max(newest, mark.this_update);
  }
}

std::vector<RevocationMark> Revocations::marks() const {
  std::vector<RevocationMark> all;
  for (const auto& [whose, newest] : newest_) all.push_back({whose.first, whose.second, newest});
  return all;
}

Status Revocations::accept(std::vector<IssuerRevocations> lists, MonoTime begun, WallTime wall) {
  std::vector<RevocationMark> marks;
  for (const IssuerRevocations& list : lists) {
    if (Status status = check(list, wall); !status) return status;
    marks.push_back({list.issuer, list.key, list.this_update});
  }
  std::map<std::string, IssuerRevocations> merged;
  for (IssuerRevocations& list : lists) {
    const auto it = merged.find(list.issuer);
    if (it != merged.end()) {
      merge(it->second, std::move(list));
    } else {
      std::string issuer = list.issuer;
      merged.emplace(std::move(issuer), std::move(list));
    }
  }
  remember(marks);
  by_issuer_ = std::move(merged);
  accepted_at_ = begun;
  failing_ = false;
  return Done{};
}

void Revocations::note_failure() {
  ++failures_;
  failing_ = true;
}

Standing Revocations::standing(const std::string& issuer, const std::string& serial, MonoTime now,
                               WallTime wall) const {
  const auto list = by_issuer_.find(issuer);
  if (list == by_issuer_.end()) return Standing::kUnknown;
  // An expired list makes no certificate good, but the certificates that it names stay revoked.
  if (list->second.serials.contains(serial)) return Standing::kRevoked;
  if (wall >= list->second.next_update || now - *accepted_at_ >= options_.max_age) {
    return Standing::kUnknown;
  }
  return Standing::kGood;
}

std::optional<std::string> Revocations::closed_because(MonoTime now, WallTime wall) const {
  if (!accepted_at_) return "there is no revocation list yet";
  if (now - *accepted_at_ >= options_.max_age) {
    return "no revocation list could be fetched for " + format_duration(options_.max_age);
  }
  for (const auto& [issuer, list] : by_issuer_) {
    if (wall >= list.next_update) {
      return "the revocation list of " + issuer + " has expired";
    }
  }
  return std::nullopt;
}

std::optional<Duration> Revocations::good_for(MonoTime now, WallTime wall) const {
  if (!accepted_at_ || now - *accepted_at_ >= options_.max_age) return std::nullopt;
  // In milliseconds: a list may be dated so far ahead that nanoseconds cannot count it.
  using std::chrono::milliseconds;
  const auto by_age = std::chrono::ceil<milliseconds>(options_.max_age - (now - *accepted_at_));
  std::optional<milliseconds> soonest;
  for (const auto& [issuer, list] : by_issuer_) {
    if (wall >= list.next_update) continue;
    const milliseconds left = std::min(by_age, list.next_update - wall);
    soonest = std::min(soonest.value_or(left), left);
  }
  return soonest;
}

Duration Revocations::next_attempt() const {
  return failing() ? options_.refresh / 10 : options_.refresh;
}

std::optional<Revocations::Term> Revocations::term(WallTime wall) const {
  std::optional<Term> first;
  for (const auto& [issuer, list] : by_issuer_) {
    const Term term{list.next_update - list.this_update, list.next_update - wall};
    if (!first || term.left < first->left) first = term;
  }
  return first;
}

std::optional<Duration> Revocations::age(MonoTime now) const {
  if (!accepted_at_) return std::nullopt;
  return now - *accepted_at_;
}

}  // namespace muster::security
