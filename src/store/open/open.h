#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"
#include "store/store.h"

namespace muster {

/// Options that the address does not contain.
struct StoreOptions {
  TlsFiles tls;  ///< For stores with TLS.
  /// Every call fails after the store is found to have gone back in time. For a replicated log,
  /// which must not continue from another past.
  bool stop_when_gone_back = false;
  /// Refuses older TLS, as Muster's servers do. Otherwise an etcd may use TLS 1.2.
  bool tls13_only = false;
};

/// True for the schemes that open_store() opens.
[[nodiscard]] bool is_built_in(std::string_view scheme);

/// Opens the store at an address such as file:///var/lib/app. Completions are posted to `loop`,
/// which must outlive the store. Returns kInvalid and a sentence if the address is invalid.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_store(const std::string& url,
                                                              EventLoop& loop,
                                                              const StoreOptions& options);

}  // namespace muster
