#pragma once

#include "base/random.h"
#include "base/time.h"
#include "store/store.h"

namespace muster {

/// Finds out whether a store keeps the promises that elections and the log rest on: an object is
/// created once, a stale revision is refused, the right one is accepted, and reads and lists show
/// what was written. Some stores take conditions and ignore them (P02); with one of those two
/// leaders are a matter of time.
///
/// Answers with Done for a store that kept every promise, kUnsupported and a sentence that names
/// the broken one for an unsafe store. Whatever prevents an answer (unreachable, ambiguous,
/// throttled, denied) is no verdict: it comes back as its own error, ambiguous as kUnavailable, and
/// a request that the store says it cannot do as kInvalid.
///
/// Touches one object of its own, muster-probe/{uuid}, and removes it at the end; a removal that
/// fails is logged with the key. Each of its calls, some fifteen one after another, gets
/// `per_call`.
///
/// Does not find promises that break only under concurrency or failure.
///
/// Call on the store's loop thread; `store` and `clock` must outlive the probe or end before their
/// loop runs again (a destroyed store delivers nothing, and the probe ends with it).
void probe_store(ObjectStore& store, const Clock& clock, Random& random, Duration per_call,
                 Callback<Done> done);

}  // namespace muster
