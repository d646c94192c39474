#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "core/security/credential_generations.h"

namespace muster::server {

/// The files of a server's certificate, private key and CA certificates, and its revocation list if
/// that is a file, too (empty otherwise). PEM; symbolic links are followed.
struct CredentialFiles {
  std::string certificate;
  std::string key;
  std::string authorities;
  std::string crl;
};

/// Whether they can be used: the certificate has not expired, the key is its private key, and there
/// is a CA. kInvalid names the fault.
[[nodiscard]] Status check_credentials(const security::Credentials& credentials, WallTime now);

/// Detects replaced certificate files, so that no server must be restarted for that. It compares
/// contents, not times: tools that renew certificates set times freely, and mounted secrets are
/// swapped behind links. New files are used once they fit together; until then the old ones stay in
/// use, and the trouble is logged and counted. Reads a few small files on the loop's thread.
/// Threads: loop thread only.
class CredentialWatcher {
 public:
  struct Options {
    Duration interval = 10s;
    /// Further conditions on files before they are used.
    std::function<Status(const security::Credentials&)> check{};
  };
  /// The credentials in force from now on, and their number.
  using Adopted = std::function<void(const security::Credentials&, std::uint64_t generation)>;

  CredentialWatcher(Loop& loop, CredentialFiles files, Options options);
  CredentialWatcher(const CredentialWatcher&) = delete;
  CredentialWatcher& operator=(const CredentialWatcher&) = delete;

  /// Reads the first generation and watches from then on. When that cannot be used there is nothing
  /// to go on with: the error is the caller's, and nothing is watched.
  [[nodiscard]] Status start();
  /// Both are called for changes after start().
  void on_adopted(Adopted adopted) { adopted_ = std::move(adopted); }
  void on_crl_changed(std::function<void()> changed) { crl_changed_ = std::move(changed); }
  /// Looks now.
  void reload();

  [[nodiscard]] const security::Credentials& current() const { return generations_.current(); }
  [[nodiscard]] std::uint64_t generation() const { return generations_.generation(); }
  [[nodiscard]] std::uint64_t refusals() const { return generations_.refusals(); }
  [[nodiscard]] const std::optional<Error>& trouble() const { return generations_.trouble(); }

 private:
  [[nodiscard]] Result<security::Credentials> read() const;
  void look_at_credentials();
  void look_at_crl();

  Loop& loop_;
  const CredentialFiles files_;
  const Options options_;
  security::CredentialGenerations generations_;
  std::string crl_;
  Adopted adopted_;
  std::function<void()> crl_changed_;
  Timer timer_;
};

}  // namespace muster::server
