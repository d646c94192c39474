#pragma once

#include <memory>

#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"
#include "store/store.h"
#include "store/url.h"

namespace muster {

struct EtcdOptions {
  TlsFiles tls{};  ///< Unless the address names its own. Any of them switches TLS on.
  /// A read, and the way to a member for a write, goes to another member after this long.
  Duration attempt_timeout = 1s;
  /// etcd's own limit (--max-request-bytes); a larger request is refused before it is sent.
  std::size_t request_bytes_max = 1536 * 1024;
  /// Objects in one page of a list.
  std::size_t page_size = 1000;
  bool stop_when_gone_back = false;  ///< As in StoreOptions.
  bool tls13_only = false;           ///< Likewise.
};

/// etcd://[user:password@]h1:2379,h2:2379/prefix: the v3 API, every condition a transaction. With
/// ?cacert=/path&cert=/path&key=/path over TLS. A member that listens on a Unix socket is
/// etcd:///prefix?socket=/path.
///
/// Reads are linearizable. Watch, guarded put, conditional remove and one order of all writes are
/// there; ages are not, as etcd keeps no times. When another or an older cluster answers at the
/// address, the call that finds it fails, history() rises, every watch is reset, and what follows
/// is asked of the new one; with `stop_when_gone_back` every call is kCorrupt instead.
///
/// Opens without a connection: a cluster that is down shows in the first call. kInvalid when the
/// address or a file is unfit.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_etcd_store(const Url& url,
                                                                   const EtcdOptions& options,
                                                                   EventLoop& loop);

}  // namespace muster
