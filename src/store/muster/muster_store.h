#pragma once

#include <cstdint>
#include <memory>

#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"
#include "store/store.h"
#include "store/url.h"

namespace muster {

struct MusterStoreOptions {
  TlsFiles tls{};  ///< Any of them switches TLS (1.3) on.
  /// A read, and the way to a server for a write, goes to another server after this long.
  Duration attempt_timeout = 1s;
  /// Objects in one page of a list; musterd gives at most 1000.
  std::uint32_t page_size = 1000;
  bool stop_when_gone_back = false;  ///< As in StoreOptions.
};

/// muster://h1:9000,h2:9000/prefix: the store that musterd keeps in its replicated state.
///
/// Reads are linearizable, whichever server answers. Watch, guarded put, conditional remove and one
/// order of all writes are there; ages are by the servers' log time. An object has at most 256 KiB.
/// A list of several pages is no snapshot: each page is as of its own moment, and a watch from the
/// list's cursor tells what changed meanwhile. When the store is found to have gone back in time,
/// the call that finds it fails, history() rises, every watch is reset, and calls go on; with
/// `stop_when_gone_back` every call is kCorrupt instead.
///
/// Opens without a connection: a cluster that is down shows in the first call. kInvalid when the
/// address or a file is unfit.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_muster_store(
    const Url& url, const MusterStoreOptions& options, EventLoop& loop);

}  // namespace muster
