#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/loop.h"
#include "store/store.h"
#include "store/url.h"

namespace muster::remote {
class LoopQueue;
}  // namespace muster::remote

namespace muster {

struct MusterStoreOptions {
  /// PEM files. Any of them switches TLS on: `ca_file` names whom to trust (the system's
  /// authorities when empty), the other two, given together, say who we are.
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  /// A read, and the way to a server for a write, goes to another server after this long.
  Duration attempt_timeout = 1s;
  /// Objects in one page of a list; musterd gives at most 1000.
  std::uint32_t page_size = 1000;
  /// Where the loop itself works gRPC; null: a thread of the store's own does. Must outlive it.
  remote::LoopQueue* loop_queue = nullptr;
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
    const Url& url, const MusterStoreOptions& options, Loop& loop);

}  // namespace muster
