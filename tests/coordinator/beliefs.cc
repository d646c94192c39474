#include "tests/coordinator/beliefs.h"

#include <algorithm>
#include <map>
#include <set>

namespace muster {
namespace {

struct Term {
  std::set<std::string> holders;
  MonoTime surely_begun = MonoTime::max();  ///< The end of the claim that ended first.
  MonoTime last_begun = MonoTime::min();    ///< The beginning of the claim that began last.
};

std::string milliseconds(Duration d) {
  return std::to_string(to_ms(d)) + " ms";
}

}  // namespace

std::vector<std::string> contradictions(const std::vector<Claim>& claims) {
  std::map<std::uint64_t, Term> terms;
  for (const Claim& claim : claims) {
    Term& term = terms[claim.epoch];
    term.holders.insert(claim.who);
    term.surely_begun = std::min(term.surely_begun, claim.to);
    term.last_begun = std::max(term.last_begun, claim.from);
  }
  std::vector<std::string> found;
  const std::pair<const std::uint64_t, Term>* latest = nullptr;  // The lower term seen last.
  for (const auto& term : terms) {
    const auto& [epoch, claimed] = term;
    if (claimed.holders.size() > 1) {
      found.push_back("epoch " + std::to_string(epoch) + " was used by " +
                      std::to_string(claimed.holders.size()) + " processes");
    }
    if (latest && claimed.surely_begun < latest->second.last_begun) {
      found.push_back(
          "epoch " + std::to_string(latest->first) + " (" + *latest->second.holders.begin() +
          ") was in use " + milliseconds(latest->second.last_begun - claimed.surely_begun) +
          " after epoch " + std::to_string(epoch) + " (" + *claimed.holders.begin() + ")");
    }
    if (!latest || claimed.last_begun > latest->second.last_begun) latest = &term;
  }
  return found;
}

std::size_t count_terms(const std::vector<Claim>& claims) {
  std::set<std::uint64_t> epochs;
  for (const Claim& claim : claims) epochs.insert(claim.epoch);
  return epochs.size();
}

}  // namespace muster
