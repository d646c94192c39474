#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "platform/pki/tls_files.h"
#include "store/url.h"

namespace muster::etcd {

/// What an etcd:// address says, besides user, password and prefix: where the members are, and
/// which files to use with them, so that one process may speak to several clusters.
struct Address {
  std::vector<std::string> endpoints;  ///< host:port, or unix:/path of a socket.
  TlsFiles tls;                        ///< Absolute; empty where the address names none.

  [[nodiscard]] bool names_files() const { return tls.any(); }
  /// kInvalid with one sentence when it is unfit.
  [[nodiscard]] static Result<Address> read(const Url& url);
};

}  // namespace muster::etcd
