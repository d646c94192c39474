#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "platform/pki/certificate.h"
#include "platform/pki/key.h"

namespace muster::pki {

/// A revocation list whose signature has been verified.
struct RevocationList {
  std::string issuer;  ///< As CertificateFacts::issuer of the certificates it judges.
  std::string key;     ///< SHA-256 of the public key that verified it, in hexadecimal.
  WallTime this_update;
  WallTime next_update;
  std::unordered_set<std::string> serials;  ///< As CertificateFacts::serial.
};

/// Reads one list in DER form or any number in PEM form. Each must be signed by one of
/// `authorities`, say when the next one comes, and be complete: a critical extension (a delta, a
/// list for some reasons only) would mean that what it leaves out is not therefore valid. kCorrupt
/// when anything is wrong with any of them; whether they are still in force is for the caller.
[[nodiscard]] Result<std::vector<RevocationList>> read_revocation_lists(
    std::string_view bytes, std::span<const Certificate> authorities);

struct RevokedSerial {
  std::string serial;
  WallTime when;
};
struct RevocationOrder {
  std::uint64_t number = 1;  ///< Rises from list to list.
  WallTime this_update;
  WallTime next_update;
  std::vector<RevokedSerial> revoked;
};
/// A new list in PEM form.
[[nodiscard]] Result<std::string> make_revocation_list(const RevocationOrder& order,
                                                       const Certificate& authority,
                                                       const PrivateKey& key);

}  // namespace muster::pki
