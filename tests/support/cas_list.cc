#include "tests/support/cas_list.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "platform/system_clock.h"

namespace muster {
namespace {

/// Nothing was settled, and asking again is the caller's right.
bool may_ask_again(const Error& error) {
  return error.code == Errc::kConflict || error.code == Errc::kAmbiguous ||
         error.code == Errc::kThrottled || error.code == Errc::kUnavailable;
}

}  // namespace

std::vector<std::string> list_entries(const std::string& body) {
  std::vector<std::string> entries;
  for (const std::string_view word : split(body, ' ')) {
    if (!word.empty()) entries.emplace_back(word);
  }
  return entries;
}

Result<CasStep> append_by_cas(TestStore& store, const Key& key, const std::string& entry,
                              Deadline give_up) {
  CasStep attempt{{}, entry};
  Error last{Errc::kUnavailable, "no time was given"};
  Random random = system_random();
  for (int round = 0; store.thread().loop().now() < give_up; ++round) {
    // Losers that come back at once only make each other lose again.
    if (round > 0) sleep_for(random.between(0ms, std::min(round, 20) * 1ms));
    const Result<Object> seen = store.get(key);
    if (!seen) {
      if (!may_ask_again(seen.error())) return seen.error();
      last = seen.error();
      continue;
    }
    const auto entries = list_entries(seen->body);
    if (std::find(entries.begin(), entries.end(), entry) != entries.end()) return attempt;
    attempt.predecessor = seen->revision;
    const auto written = store.put(key, seen->body + " " + entry, Precondition::at(seen->revision));
    if (written) return attempt;
    if (!may_ask_again(written.error())) return written.error();
    last = written.error();
  }
  return {last.code, "gave up appending " + entry + ": " + last.message};
}

}  // namespace muster
