#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "platform/pki/tls_files.h"
#include "platform/pki/tls_probe.h"

namespace muster::client {

/// Why no TLS connection to `server` (host:port) is possible, in one sentence that names the file,
/// date or name concerned, and the remedy. None if TLS is not the reason. A pure decision about
/// given findings; diagnose_tls() collects them.
[[nodiscard]] std::optional<std::string> explain_tls(const std::string& server,
                                                     const TlsFiles& files,
                                                     const pki::TlsFindings& findings,
                                                     WallTime now);

/// Repeats the handshake with the server and explains its failure. Blocks for at most `limit`, not
/// counting the resolver. Any thread.
[[nodiscard]] std::optional<std::string> diagnose_tls(const std::string& server,
                                                      const TlsFiles& files, Duration limit);

}  // namespace muster::client
