#include "platform/pki/certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>

#include "base/check.h"
#include "platform/pki/openssl.h"

namespace muster::pki {
namespace {

std::string bytes_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

Status read_common_names(const X509* certificate, CertificateFacts& facts) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  for (; at >= 0; at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) {
    unsigned char* utf8 = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size < 0) return openssl_failure(Errc::kInvalid, "the certificate's subject is not text");
    facts.common_names.emplace_back(reinterpret_cast<const char*>(utf8),
                                    static_cast<std::size_t>(size));
    OPENSSL_free(utf8);
  }
  return Done{};
}

Status read_address(const ASN1_OCTET_STRING* address, CertificateFacts& facts) {
  const int size = ASN1_STRING_length(address);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (size != 4 && size != 16) {
    return {Errc::kInvalid, "an address in the certificate has " + std::to_string(size) + " bytes"};
  }
  MUSTER_CHECK(::inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address),
                           text.data(), text.size()) != nullptr);
  facts.ip_addresses.emplace_back(text.data());
  return Done{};
}

Status read_alternative_names(const X509* certificate, CertificateFacts& facts) {
  int critical = -1;
  const Owned<GENERAL_NAMES, GENERAL_NAMES_free> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, nullptr)));
  // -1 says that there are none; otherwise they are there twice, or malformed.
  if (names == nullptr) {
    if (critical == -1) return Done{};
    return openssl_failure(Errc::kInvalid, "the certificate's alternative names cannot be read");
  }
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      facts.dns_names.push_back(bytes_of(name->d.dNSName));
    } else if (name->type == GEN_URI) {
      facts.uris.push_back(bytes_of(name->d.uniformResourceIdentifier));
    } else if (name->type == GEN_IPADD) {
      if (Status status = read_address(name->d.iPAddress, facts); !status) return status;
    }
  }
  return Done{};
}

/// Without the extension OpenSSL would allow every use.
void read_uses(X509* certificate, CertificateFacts& facts) {
  if ((X509_get_extension_flags(certificate) & EXFLAG_XKUSAGE) == 0) return;
  const std::uint32_t uses = X509_get_extended_key_usage(certificate);
  facts.client_auth = (uses & XKU_SSL_CLIENT) != 0;
  facts.server_auth = (uses & XKU_SSL_SERVER) != 0;
}

Result<CertificateFacts> read_facts(X509* certificate) {
  CertificateFacts facts;
  facts.subject = to_text(X509_get_subject_name(certificate));
  facts.issuer = to_text(X509_get_issuer_name(certificate));
  facts.serial = to_hex(X509_get0_serialNumber(certificate));
  const auto from = to_wall_time(X509_get0_notBefore(certificate));
  const auto to = to_wall_time(X509_get0_notAfter(certificate));
  if (!from || !to) return {Errc::kInvalid, "the certificate's validity cannot be read"};
  facts.not_before = *from;
  facts.not_after = *to;
  read_uses(certificate, facts);
  if (Status status = read_common_names(certificate, facts); !status) return status.error();
  if (Status status = read_alternative_names(certificate, facts); !status) return status.error();
  return facts;
}

X509* next_of(BIO* bio) {
  return PEM_read_bio_X509(
      bio, nullptr, [](char*, int, int, void*) { return -1; }, nullptr);
}

}  // namespace

void Certificate::Free::operator()(X509* certificate) const {
  X509_free(certificate);
}

Result<Certificate> Certificate::from_pem(std::string_view pem) {
  X509* certificate = next_of(reader(pem).get());
  if (certificate == nullptr) {
    return openssl_failure(Errc::kInvalid, "there is no readable certificate in PEM form");
  }
  return adopt(certificate);
}

Result<std::vector<Certificate>> Certificate::all_from_pem(std::string_view pem) {
  const OwnedBio bio = reader(pem);
  std::vector<Certificate> all;
  while (X509* each = next_of(bio.get())) {
    auto certificate = adopt(each);
    if (!certificate) return certificate.error();
    all.push_back(std::move(*certificate));
  }
  // Only the end of the text ends a bundle in order; anything else hides certificates after it.
  if (all.empty() || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return openssl_failure(Errc::kInvalid, "there is no readable certificate in PEM form");
  }
  ERR_clear_error();
  return all;
}

Result<Certificate> Certificate::adopt(X509* certificate) {
  Certificate adopted(certificate);
  auto facts = read_facts(certificate);
  if (!facts) return facts.error();
  adopted.facts_ = std::move(*facts);
  return adopted;
}

bool Certificate::belongs_to(const PrivateKey& key) const {
  const bool matches = X509_check_private_key(certificate_.get(), key.get()) == 1;
  ERR_clear_error();
  return matches;
}

std::string Certificate::to_pem() const {
  std::string pem = pki::to_pem(certificate_.get());
  MUSTER_CHECK(!pem.empty());
  return pem;
}

std::string to_pem(const X509* certificate) {
  const OwnedBio bio = writer();
  if (PEM_write_bio_X509(bio.get(), certificate) == 1) return written(bio.get());
  ERR_clear_error();
  return {};
}

}  // namespace muster::pki
