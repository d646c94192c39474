#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "platform/pki/key.h"

namespace muster::pki {

/// What a certificate says, as text. Nothing of it is checked: a certificate is believed only after
/// a handshake, and names may hold any byte.
struct CertificateFacts {
  std::string subject;
  std::string issuer;
  std::string serial;  ///< Lower-case hexadecimal without leading zeros; unique for an issuer.
  std::vector<std::string> common_names;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;  ///< As inet_ntop writes them.
  std::vector<std::string> uris;
  bool client_auth = false;  ///< Its extended key usage names clientAuth: it is not merely absent.
  bool server_auth = false;  ///< Likewise serverAuth.
  WallTime not_before;
  WallTime not_after;
};

/// A certificate. Any thread, as long as it is not moved meanwhile.
class Certificate {
 public:
  /// The first one of a PEM text; what follows it (a chain) is left alone.
  [[nodiscard]] static Result<Certificate> from_pem(std::string_view pem);
  /// Every one of a bundle; kInvalid when there is none.
  [[nodiscard]] static Result<std::vector<Certificate>> all_from_pem(std::string_view pem);
  /// Takes `certificate` over. kInvalid when its names or times cannot be read.
  [[nodiscard]] static Result<Certificate> adopt(X509* certificate);

  [[nodiscard]] const CertificateFacts& facts() const { return facts_; }
  /// True when `key` is the private key of it.
  [[nodiscard]] bool belongs_to(const PrivateKey& key) const;
  [[nodiscard]] std::string to_pem() const;
  [[nodiscard]] X509* get() const { return certificate_.get(); }

 private:
  explicit Certificate(X509* certificate) : certificate_(certificate) {}
  struct Free {
    void operator()(X509* certificate) const;
  };
  std::unique_ptr<X509, Free> certificate_;
  CertificateFacts facts_;
};

/// One certificate as PEM; empty when OpenSSL cannot write it.
[[nodiscard]] std::string to_pem(const X509* certificate);

}  // namespace muster::pki
