#pragma once

#include "base/result.h"
#include "base/time.h"
#include "platform/http/message.h"
#include "platform/http/server.h"
#include "server/security/tls_keeper.h"

namespace muster::server {

/// Whether the sender of a request over TLS may request its path: by the permission table, as for
/// gRPC. Probes need no certificate. kDenied with one sentence otherwise. Any thread.
[[nodiscard]] Status may_ask(const TlsKeeper& tls, const http::Request& request, WallTime now);

/// A context of OpenSSL that follows the rules of `tls`, reloads included. Null when OpenSSL
/// cannot make one.
[[nodiscard]] http::TlsContext http_context(const TlsKeeper& tls);

}  // namespace muster::server
