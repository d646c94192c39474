#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "platform/pki/tls_files.h"
#include "platform/pki/tls_probe.h"

namespace muster::client {

/// Why no safe connection to `server` (host:port) comes about, in one sentence that names the file,
/// the date or the name concerned, and what to do. None when TLS is not the reason. A pure decision
/// about what was found; diagnose_tls() looks.
[[nodiscard]] std::optional<std::string> explain_tls(const std::string& server,
                                                     const TlsFiles& files,
                                                     const pki::TlsFindings& findings,
                                                     WallTime now);

/// Shakes hands with the server once more and explains what is wrong. Blocks for at most `limit`,
/// the resolver apart. Any thread.
[[nodiscard]] std::optional<std::string> diagnose_tls(const std::string& server,
                                                      const TlsFiles& files, Duration limit);

}  // namespace muster::client
