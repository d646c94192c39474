#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/certificate_index.h"
#include "core/security/role.h"
#include "platform/files.h"
#include "platform/pki/certificate.h"
#include "platform/pki/key.h"

namespace muster::cli {

/// A request for a certificate.
struct IssueOrder {
  security::Role role = security::Role::kNode;
  std::string id;
  std::vector<std::string> sans;     ///< Host names, addresses, URIs.
  std::vector<std::string> carries;  ///< Of an agent: ids, or beginnings with a star.
  std::uint32_t days = 365;
  bool p12 = false;
  bool replace = false;  ///< Files of an earlier certificate of this id may go.
};

struct IssuedCertificate {
  std::string certificate_file;
  std::string key_file;
  std::string p12_file;      ///< Empty unless ordered.
  std::string p12_password;  ///< Stands nowhere else.
  std::string serial;
  WallTime expires;
};

struct WrittenList {
  std::string file;
  std::size_t revoked = 0;           ///< How many certificates it names.
  std::vector<std::string> serials;  ///< Those that are new on it.
  WallTime next_update;
};

/// A certificate authority in a directory, for development and small sites: ca.crt, ca.key,
/// index.json, crl.pem, and ID.crt, ID.key, ID.p12 of what it has issued. Keys have mode 0600,
/// every file is replaced as a whole, and none unless that was asked for. What it has promised is
/// in the index before it is anywhere else, so a crash can lose a file but never a serial number.
/// Its key is not encrypted: who can read the directory is the authority.
/// Holds a lock on the directory while it lives. One thread.
class Authority {
 public:
  /// Makes a new one in `directory`, which may be absent.
  [[nodiscard]] static Result<Authority> create(const std::string& directory, std::uint32_t days,
                                                WallTime now);
  /// Opens the one that is there.
  [[nodiscard]] static Result<Authority> open(const std::string& directory);

  [[nodiscard]] Result<IssuedCertificate> issue(const IssueOrder& order, WallTime now);
  /// Every certificate of that id is revoked, and a new list written, also when they were before.
  /// kInvalid if the list would outlive the CA certificate.
  [[nodiscard]] Result<WrittenList> revoke(const std::string& id, std::uint32_t days, WallTime now);
  /// A new list of what has been revoked so far.
  [[nodiscard]] Result<WrittenList> write_list(std::uint32_t days, WallTime now);

  [[nodiscard]] const pki::CertificateFacts& facts() const { return certificate_.facts(); }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }

 private:
  Authority(std::string directory, UniqueFd fd, files::FileLock lock, pki::Certificate certificate,
            pki::PrivateKey key, CertificateIndex index);

  [[nodiscard]] Status write_issued(const IssueOrder& order, const pki::Certificate& certificate,
                                    const pki::PrivateKey& key, IssuedCertificate& issued) const;
  [[nodiscard]] Status check_term(std::uint32_t days, WallTime now) const;
  [[nodiscard]] Status save_index() const;

  std::string directory_;
  UniqueFd fd_;
  files::FileLock lock_;
  pki::Certificate certificate_;
  pki::PrivateKey key_;
  CertificateIndex index_;
};

}  // namespace muster::cli
