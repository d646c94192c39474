#pragma once

#include <openssl/x509.h>

#include <memory>

#include "base/result.h"

namespace muster::pki {

using Authorities = std::shared_ptr<X509_STORE>;

/// The authorities that this system believes: those of SSL_CERT_FILE or SSL_CERT_DIR where these
/// are set, else of the list that distributions keep in one file, else of OpenSSL's own directory.
/// Reading the list takes some 20 ms, so it is read once for all, and again when the file has
/// changed, or a day has passed. What cannot be read leaves the former in force. The same object
/// comes back until they change. kInvalid when there are none. Any thread.
[[nodiscard]] Result<Authorities> system_authorities();

}  // namespace muster::pki
