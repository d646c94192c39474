#pragma once

#include <string>

#include "elector/sync_store.h"

namespace muster {

/// Writes under a condition and settles an unclear outcome by reading back, as far as possible.
/// Requires: `body` was never written before (it holds a nonce), and `when` is a condition. Then
/// a body that is found again is this write; while the old one is found, the same write is
/// resent.
///
/// Returns: kConflict: another writer came first, or came later and replaced this write.
/// kAmbiguous: still open, the write may land yet. Any other error: certainly not written.
[[nodiscard]] Result<Revision> settled_put(SyncStore& store, const Key& key,
                                           const std::string& body, const Precondition& when);

}  // namespace muster
