#pragma once

#include <algorithm>

#include "base/random.h"
#include "base/time.h"
#include "store/store.h"

namespace muster {

/// Whose store it is. One that a program brought is also asked whether an object that was removed
/// and made anew has another revision, which ours cannot get wrong.
enum class ProbedStore { kBuiltIn, kOfProgram };

/// What each call of a probe may take where requests have `request_timeout`. Nobody leads yet, so a
/// busy store is given more time than a renewal has.
[[nodiscard]] constexpr Duration probe_time(Duration request_timeout) {
  return std::max<Duration>(request_timeout, 3s);
}

/// Checks whether a store keeps the promises that elections and the log rely on: an object is
/// created once, a stale revision is refused, the current one is accepted, and reads and lists
/// show what was written, and no setting of the store breaks them. Some stores accept conditions
/// and ignore them (P02); with such a store, two leaders are a matter of time.
///
/// Returns: Done for a store that kept every promise; kUnsupported and a sentence that names the
/// broken promise for an unsafe store. A failure that prevents an answer (unreachable,
/// ambiguous, throttled, denied) is not a verdict: it is returned as its own error, ambiguous as
/// kUnavailable, and a request that the store declares unsupported as kInvalid.
///
/// Uses one object of its own, muster-probe/{uuid}, and removes it at the end. A removal that fails
/// is tried again after the verdict, with more time, as long as `store` lives; one that fails for
/// good is logged with the key. Each of its calls, about fifteen in a row, gets `per_call`.
///
/// Not guaranteed: to find promises that break only under concurrency or failure.
///
/// Threads: the store's loop thread. Requires: `store` and `clock` outlive the probe or end
/// before their loop runs again (a destroyed store delivers nothing, and the probe ends with
/// it).
void probe_store(ObjectStore& store, const Clock& clock, Random& random, Duration per_call,
                 Callback<Done> done, ProbedStore whose = ProbedStore::kBuiltIn);

}  // namespace muster
