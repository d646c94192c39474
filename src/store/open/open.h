#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"
#include "store/store.h"

namespace muster {

/// What an address does not say.
struct StoreOptions {
  TlsFiles tls;  ///< For stores that are reached over TLS.
  /// When the store is found to have gone back in time, every call fails from then on. For a
  /// replicated log, which must not go on in another past.
  bool stop_when_gone_back = false;
  /// Older TLS is refused, as servers of Muster do. Otherwise an etcd may speak TLS 1.2.
  bool tls13_only = false;
};

/// Opens the store at an address such as file:///var/lib/app; its completions are posted to
/// `loop`, which must outlive it. kInvalid with a sentence when the address is no good.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_store(const std::string& url,
                                                              EventLoop& loop,
                                                              const StoreOptions& options);

}  // namespace muster
