#include "platform/pki/key.h"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include <array>

#include "base/check.h"
#include "platform/pki/openssl.h"

namespace muster::pki {

void PrivateKey::Free::operator()(EVP_PKEY* key) const {
  EVP_PKEY_free(key);
}

Result<PrivateKey> PrivateKey::generate(KeyType type) {
  EVP_PKEY* key = type == KeyType::kRsa2048 ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
  if (key == nullptr) return openssl_failure(Errc::kUnavailable, "cannot make a private key");
  return PrivateKey(key);
}

Result<PrivateKey> PrivateKey::from_pem(std::string_view pem) {
  // Without a callback OpenSSL would ask the terminal for a password, and a daemon would hang.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  EVP_PKEY* key = PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, no_password, nullptr);
  if (key == nullptr) {
    return openssl_failure(Errc::kInvalid,
                           "there is no readable private key in PEM form (without a password)");
  }
  return PrivateKey(key);
}

std::string PrivateKey::to_pem() const {
  const OwnedBio bio = writer();
  MUSTER_CHECK(PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                             nullptr) == 1);
  return written(bio.get());
}

std::string random_password() {
  // 32 signs, none of which is mistaken for another when typed.
  static constexpr std::string_view kSigns = "abcdefghijkmnpqrstuvwxyz23456789";
  static_assert(kSigns.size() == 32);
  std::array<unsigned char, 20> bytes{};
  MUSTER_CHECK(RAND_priv_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  std::string password;
  for (const unsigned char byte : bytes) password += kSigns[byte % kSigns.size()];
  return password;
}

}  // namespace muster::pki
