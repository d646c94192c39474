#pragma once

#include <memory>

#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"
#include "store/store.h"
#include "store/url.h"

namespace muster {

struct EtcdOptions {
  TlsFiles tls{};  ///< Default for addresses without files. Any file switches TLS on.
  /// After this time a read, or a write not yet sent, goes to another member.
  Duration attempt_timeout = 1s;
  /// etcd's own limit (--max-request-bytes); a larger request is refused before it is sent.
  std::size_t request_bytes_max = 1536 * 1024;
  /// Objects in one page of a list.
  std::size_t page_size = 1000;
  bool stop_when_gone_back = false;  ///< See StoreOptions.
  bool tls13_only = false;           ///< See StoreOptions.
};

/// The store at etcd://[user:password@]h1:2379,h2:2379/prefix: the v3 API, with every condition a
/// transaction. ?cacert=/path&cert=/path&key=/path switches TLS on. A member that listens on a Unix
/// socket is etcd:///prefix?socket=/path.
///
/// Guarantees: reads are linearizable. It supports watch, guarded put, conditional remove and one
/// order of all writes, but no ages, because etcd keeps no times. If another or an older cluster
/// answers at the address, the call that detects it fails, history() rises, every watch is reset,
/// and later calls use the new cluster; with `stop_when_gone_back` every call is kCorrupt instead.
///
/// Opens without a connection: the first call shows if a cluster is down. Returns kInvalid if the
/// address or a file is invalid.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_etcd_store(const Url& url,
                                                                   const EtcdOptions& options,
                                                                   EventLoop& loop);

}  // namespace muster
