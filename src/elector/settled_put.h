#pragma once

#include <string>

#include "elector/sync_store.h"

namespace muster {

/// A conditional write whose outcome is settled by reading back, as far as it can be. `body` must
/// never have been written before (it holds a nonce), and `when` must be a condition: so a body
/// that is found again is this write, and while the old one is found only the very same write is
/// sent again.
///
/// kConflict: another writer came first, or came after and replaced this write. kAmbiguous: still
/// open; it may land yet. Anything else: certainly not written.
[[nodiscard]] Result<Revision> settled_put(SyncStore& store, const Key& key,
                                           const std::string& body, const Precondition& when);

}  // namespace muster
