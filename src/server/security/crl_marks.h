#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/security/revocations.h"

namespace muster::server {

/// The newest revocation lists that this server has ever accepted, in the file
/// `crl-marks.json` of its data directory (mode 0600): after a restart an older list, still in
/// force by its own dates, would bring revoked certificates back.
/// A missing file says that nothing was accepted yet; a user who can remove it can also replace
/// the server's CA file. Loop thread only.
class CrlMarks {
 public:
  explicit CrlMarks(std::string directory) : directory_(std::move(directory)) {}

  /// kInvalid when the file is there and cannot be understood: it is never taken for an empty one.
  [[nodiscard]] Result<std::vector<security::RevocationMark>> load() const;
  /// Replaces the file as a whole; makes the directory (mode 0700) where it is absent.
  [[nodiscard]] Status save(const std::vector<security::RevocationMark>& marks) const;

 private:
  std::string directory_;
};

}  // namespace muster::server
