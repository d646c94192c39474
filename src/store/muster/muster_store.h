#pragma once

#include <cstdint>
#include <memory>

#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"
#include "store/store.h"
#include "store/url.h"

namespace muster {

struct MusterStoreOptions {
  TlsFiles tls{};  ///< Any file switches TLS (1.3) on.
  /// After this time a read, or a write not yet sent, goes to another server.
  Duration attempt_timeout = 1s;
  /// Objects in one page of a list; musterd returns at most 1000.
  std::uint32_t page_size = 1000;
  bool stop_when_gone_back = false;  ///< See StoreOptions.
};

/// The store at muster://h1:9000,h2:9000/prefix, which musterd keeps in its replicated state.
///
/// Guarantees: reads are linearizable, whichever server answers. It supports watch, guarded put,
/// conditional remove and one order of all writes; ages are by the servers' log time. An object has
/// at most 256 KiB. Not guaranteed: that a list of several pages is one snapshot. Each page has its
/// own moment; a watch from the list's cursor reports the changes in between. If the store has gone
/// back in time, the call that detects it fails, history() rises, every watch is reset, and calls
/// go on; with `stop_when_gone_back` every call is kCorrupt instead.
///
/// Opens without a connection: the first call shows if a cluster is down. Returns kInvalid if the
/// address or a file is invalid.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_muster_store(
    const Url& url, const MusterStoreOptions& options, EventLoop& loop);

}  // namespace muster
