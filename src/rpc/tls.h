#pragma once

#include <memory>

#include "base/result.h"
#include "platform/pki/tls.h"
#include "platform/pki/tls_files.h"

namespace muster::rpc {

using pki::ClientTls;
using pki::SslContext;
using pki::SslPtr;
using pki::tls_from_client;
using pki::tls_to;

/// The TLS of one side, with its certificates: it speaks only HTTP/2, and only 1.3 unless `tls12`
/// allows the older version. Without CA certificates in `texts` it trusts those of the system.
/// Returns kInvalid if OpenSSL cannot use them.
[[nodiscard]] Result<SslContext> tls_context(const pki::TlsTexts& texts, bool tls12 = false);
/// Likewise, for a client and from files.
[[nodiscard]] Result<std::shared_ptr<ClientTls>> open_client_tls(TlsFiles files,
                                                                 bool tls12 = false);
/// Makes `context` agree only on HTTP/2 with its clients.
void offer_http2(SSL_CTX& context);

}  // namespace muster::rpc
