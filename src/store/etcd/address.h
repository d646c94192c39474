#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "platform/pki/tls_files.h"
#include "store/url.h"

namespace muster::etcd {

/// The parts of an etcd:// address other than user, password and prefix: the members, and the TLS
/// files for them, so that one process may use several clusters.
struct Address {
  std::vector<std::string> endpoints;  ///< host:port, or unix:/path of a socket.
  TlsFiles tls;                        ///< Absolute paths; empty if the address names none.

  [[nodiscard]] bool names_files() const { return tls.any(); }
  /// Returns kInvalid and one sentence if the address is invalid.
  [[nodiscard]] static Result<Address> read(const Url& url);
};

}  // namespace muster::etcd
