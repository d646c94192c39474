#include <openssl/x509.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "platform/pki/crl.h"
#include "platform/pki/issue.h"
#include "platform/pki/key.h"

namespace {

using namespace muster;

/// An authority that is made once, and whose key signs what is fuzzed: a signature that does not
/// hold would end every look before it begins.
struct Authority {
  pki::PrivateKey key = pki::PrivateKey::generate(pki::KeyType::kEcP256).value();
  std::vector<pki::Certificate> certificates;

  Authority() {
    pki::CertificateOrder order;
    order.common_name = "Fuzz CA";
    order.use = pki::CertificateOrder::Use::kAuthority;
    order.not_after = wall_from_ms(4'000'000'000'000);
    certificates.push_back(pki::issue_authority(order, key).value());
  }

  /// The list in `der`, if it is one, under this authority's name and with its signature.
  std::optional<std::string> sign(std::string_view der) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    X509_CRL* list = d2i_X509_CRL(nullptr, &bytes, static_cast<long>(der.size()));
    if (list == nullptr) return std::nullopt;
    std::optional<std::string> result;
    unsigned char* out = nullptr;
    if (X509_CRL_set_issuer_name(list, X509_get_subject_name(certificates[0].get())) == 1 &&
        X509_CRL_sign(list, key.get(), EVP_sha256()) != 0) {
      const int length = i2d_X509_CRL(list, &out);
      if (length > 0)
        result.emplace(reinterpret_cast<char*>(out), static_cast<std::size_t>(length));
      OPENSSL_free(out);
    }
    X509_CRL_free(list);
    return result;
  }
};

void look(std::string_view bytes, const Authority& authority) {
  const auto lists = pki::read_revocation_lists(bytes, authority.certificates);
  if (!lists) {
    MUSTER_CHECK(lists.is(Errc::kCorrupt) && !lists.error().message.empty());
    return;
  }
  MUSTER_CHECK(!lists->empty());
  for (const pki::RevocationList& list : *lists) {
    MUSTER_CHECK(list.issuer == authority.certificates[0].facts().subject && list.key.size() == 64);
    for (const std::string& serial : list.serials) MUSTER_CHECK(!serial.empty());
  }
}

}  // namespace

// Lists as they come from a file or a server, and the same signed; and certificates, whose names
// anybody may choose who can make an authority sign them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Authority authority;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  look(bytes, authority);
  if (const auto signed_list = authority.sign(bytes)) look(*signed_list, authority);
  const auto* der = data;
  if (X509* certificate = d2i_X509(nullptr, &der, static_cast<long>(size))) {
    const auto read = pki::Certificate::adopt(certificate);
    if (!read) MUSTER_CHECK(read.is(Errc::kInvalid));
  }
  return 0;
}
