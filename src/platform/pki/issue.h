#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "platform/pki/certificate.h"
#include "platform/pki/key.h"

namespace muster::pki {

/// What a new certificate is to say.
struct CertificateOrder {
  enum class Use {
    kAuthority,        ///< Signs certificates and revocation lists, and nothing else.
    kClient,           ///< Shown by who connects.
    kServerAndClient,  ///< Shown by servers to clients, and to each other when they connect.
  };
  std::string common_name;
  std::vector<std::string> dns_names{};
  std::vector<std::string> ip_addresses{};
  std::vector<std::string> uris{};
  Use use = Use::kClient;
  WallTime not_before{};
  WallTime not_after{};
};

/// A certificate for `key`, with a random serial number of 128 bits.
[[nodiscard]] Result<Certificate> issue(const CertificateOrder& order, const PrivateKey& key,
                                        const Certificate& authority,
                                        const PrivateKey& authority_key);
/// The certificate of a new authority, which signs itself.
[[nodiscard]] Result<Certificate> issue_authority(const CertificateOrder& order,
                                                  const PrivateKey& key);

/// Certificate, key and authority in one file for browsers, encrypted with `password`.
[[nodiscard]] Result<std::string> bundle_p12(const std::string& name, const std::string& password,
                                             const Certificate& certificate, const PrivateKey& key,
                                             const Certificate& authority);

}  // namespace muster::pki
