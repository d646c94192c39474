#include "core/log/digest.h"

#include <cstring>

#include <openssl/evp.h>

#include "base/check.h"
#include "base/text.h"

namespace muster::rlog {

Digest sha256(std::string_view bytes) {
  // Fetched once: looking the algorithm up costs more than hashing a small entry.
  static EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  MUSTER_CHECK(algorithm != nullptr);
  Digest digest;
  MUSTER_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, algorithm, nullptr) ==
               1);
  return digest;
}

std::string to_hex(const Digest& digest) {
  return muster::to_hex(digest);
}

void seal_with_digest(std::string& body) {
  const Digest digest = sha256(body);
  body += bytes_of(digest);
}

std::string_view verified(std::string_view body) {
  if (body.size() < sizeof(Digest)) return {};
  const std::string_view content = body.substr(0, body.size() - sizeof(Digest));
  return sha256(content) == digest_at_end(body) ? content : std::string_view();
}

Digest digest_at_end(std::string_view body) {
  MUSTER_CHECK(body.size() >= sizeof(Digest));
  Digest digest;
  std::memcpy(digest.data(), body.data() + body.size() - sizeof(Digest), sizeof(Digest));
  return digest;
}

}  // namespace muster::rlog
