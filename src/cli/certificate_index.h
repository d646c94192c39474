#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::cli {

/// What an authority remembers of one certificate it has made.
struct IndexedCertificate {
  std::string serial;
  std::string id;
  std::string role;
  WallTime issued;
  WallTime expires;
  std::optional<WallTime> revoked;
};

/// Everything an authority has made, as index.json holds it. Nothing is ever taken out, so that a
/// certificate once revoked is on every list from then on. A value; one thread.
struct CertificateIndex {
  std::uint64_t crl_number = 0;  ///< Of the last revocation list.
  std::vector<IndexedCertificate> certificates;

  /// kCorrupt unless it is exactly what to_json writes: guessing could leave a revoked one out.
  [[nodiscard]] static Result<CertificateIndex> from_json(std::string_view text);
  [[nodiscard]] std::string to_json() const;

  /// Marks all of this id that are not revoked yet; answers with their serials. Earlier ones of the
  /// same id count too: their keys may still be somewhere.
  std::vector<std::string> revoke(const std::string& id, WallTime now);
  [[nodiscard]] bool knows(const std::string& id) const;
};

}  // namespace muster::cli
