#include "tests/run/evidence.h"

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "base/check.h"

namespace muster {
namespace {

MonoTime last_tick(const std::string& file, MonoTime start) {
  std::int64_t ns = 0;
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&ns), sizeof ns);
  MUSTER_CHECK(in.gcount() == sizeof ns);
  return std::max(start, MonoTime(Duration(ns)));
}

}  // namespace

std::vector<Claim> EvidenceRoom::claims() const {
  std::vector<Claim> claims;
  std::ifstream log(directory_ / "log");
  if (!log.is_open()) return claims;  // Nobody has started yet.
  std::uint64_t epoch = 0;
  std::int64_t start_ns = 0;
  std::string node;
  std::string name;
  std::string file;
  while (log >> epoch >> node >> name >> start_ns >> file) {
    const MonoTime start{Duration(start_ns)};
    const MonoTime last = last_tick(file, start);
    claims.push_back({node, epoch, start, start});
    claims.push_back({node, epoch, last, last});
  }
  MUSTER_CHECK(log.eof());
  return claims;
}

std::optional<MonoTime> EvidenceRoom::last_seen() const {
  std::optional<MonoTime> last;
  for (const Claim& claim : claims()) last = std::max(last.value_or(claim.to), claim.to);
  return last;
}

std::optional<MonoTime> EvidenceRoom::started_after(MonoTime since) const {
  const std::vector<Claim> all = claims();
  std::optional<MonoTime> first;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    if (all[i].from <= since) continue;
    first = std::min(first.value_or(all[i].from), all[i].from);
  }
  return first;
}

std::vector<std::string> falling_epochs(const std::vector<Claim>& claims) {
  std::vector<Claim> starts;
  for (std::size_t i = 0; i < claims.size(); i += 2) starts.push_back(claims[i]);
  std::sort(starts.begin(), starts.end(),
            [](const Claim& a, const Claim& b) { return a.from < b.from; });
  std::vector<std::string> wrong;
  for (std::size_t i = 1; i < starts.size(); ++i) {
    if (starts[i].epoch >= starts[i - 1].epoch) continue;
    wrong.push_back(starts[i].who + " started with epoch " + std::to_string(starts[i].epoch) +
                    " after " + starts[i - 1].who + " with " + std::to_string(starts[i - 1].epoch));
  }
  return wrong;
}

}  // namespace muster
