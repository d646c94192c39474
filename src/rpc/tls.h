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

/// What one side shows and believes: TLS that speaks HTTP/2 and nothing else, 1.3 unless `tls12`
/// allows the older one too. The system's authorities count where there are none in `texts`.
/// kInvalid when OpenSSL cannot use them.
[[nodiscard]] Result<SslContext> tls_context(const pki::TlsTexts& texts, bool tls12 = false);
/// Likewise, for a client and from files.
[[nodiscard]] Result<std::shared_ptr<ClientTls>> open_client_tls(TlsFiles files,
                                                                 bool tls12 = false);
/// Makes `context` agree on HTTP/2 with its clients, and on nothing else.
void offer_http2(SSL_CTX& context);

}  // namespace muster::rpc
