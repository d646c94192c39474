#pragma once

#include <string>

#include "platform/http/http_client.h"
#include "server/security/crl_keeper.h"

namespace muster::server {

/// The source of revocation lists: PEM or DER, at most 16 MB.

/// A file, read again each time; symbolic links are followed.
[[nodiscard]] CrlKeeper::Fetch crl_from_file(std::string path);
/// An http or https address that answers 200. Lists are signed, so http will do. `http` must
/// outlive the fetches.
[[nodiscard]] CrlKeeper::Fetch crl_from_url(HttpClient& http, std::string url);

}  // namespace muster::server
