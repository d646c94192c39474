#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// Files in PEM; each may be empty. Without any of them connections are not encrypted, and only fit
/// for loopback.
struct TlsFiles {
  std::string ca{};    ///< CA certificates that verify the server; empty: the system's.
  std::string cert{};  ///< The client certificate, with `key`.
  std::string key{};

  [[nodiscard]] bool any() const { return !ca.empty() || !cert.empty() || !key.empty(); }
};

}  // namespace muster

namespace muster::pki {

/// What is in them; empty where there is no file.
struct TlsTexts {
  std::string ca;
  std::string cert;
  std::string key;
};

/// kInvalid, naming the file and what is wrong with it, when one cannot be read, is no PEM of its
/// kind, or certificate and key do not belong together: otherwise each connection would fail, and
/// none would say why.
[[nodiscard]] Result<TlsTexts> read_tls_files(const TlsFiles& files);

}  // namespace muster::pki
