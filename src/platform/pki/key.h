#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::pki {

enum class KeyType {
  kRsa2048,  ///< What a server shows: with it etcd 3.4 can be told to refuse TLS 1.2.
  kEcP256,   ///< Everything else: small, and quick to sign with.
};

/// A private key. Its PEM is a secret: keep it in files of mode 0600 and out of messages.
/// Any thread, as long as it is not moved meanwhile.
class PrivateKey {
 public:
  [[nodiscard]] static Result<PrivateKey> generate(KeyType type);
  /// kInvalid when there is no key in it, or one that needs a password: nobody is asked for any.
  [[nodiscard]] static Result<PrivateKey> from_pem(std::string_view pem);
  /// PKCS #8, not encrypted.
  [[nodiscard]] std::string to_pem() const;
  [[nodiscard]] EVP_PKEY* get() const { return key_.get(); }

 private:
  explicit PrivateKey(EVP_PKEY* key) : key_(key) {}
  struct Free {
    void operator()(EVP_PKEY* key) const;
  };
  std::unique_ptr<EVP_PKEY, Free> key_;
};

/// Letters and digits from the system's secure source, about 100 bits.
[[nodiscard]] std::string random_password();

}  // namespace muster::pki
