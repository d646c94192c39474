#include "platform/pki/crl.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>

#include "base/check.h"
#include "base/text.h"
#include "platform/pki/openssl.h"

namespace muster::pki {
namespace {

Error corrupt(const std::string& what) {
  return {Errc::kCorrupt, "the revocation list " + what};
}

bool is_signed_by(X509_CRL* list, const Certificate& authority) {
  return X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_subject_name(authority.get())) == 0 &&
         (X509_get_key_usage(authority.get()) & X509v3_KU_CRL_SIGN) != 0 &&
         X509_CRL_verify(list, X509_get0_pubkey(authority.get())) == 1;
}

std::string fingerprint(const Certificate& authority) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  // Of the authority's own key, whose certificate was parsed: SHA-256 is always there.
  MUSTER_CHECK(X509_pubkey_digest(authority.get(), EVP_sha256(), digest.data(), &size) == 1);
  return muster::to_hex(std::span<const unsigned char>(digest).first(size));
}

Result<RevocationList> read_verified(X509_CRL* list, std::span<const Certificate> authorities) {
  RevocationList read;
  read.issuer = to_text(X509_CRL_get_issuer(list));
  for (const Certificate& authority : authorities) {
    if (!is_signed_by(list, authority)) continue;
    read.key = fingerprint(authority);
    break;
  }
  ERR_clear_error();
  if (read.key.empty()) return corrupt("of " + read.issuer + " is not signed by a CA in use");
  if (X509_CRL_get_ext_by_critical(list, 1, -1) >= 0) {
    return corrupt("of " + read.issuer + " is not complete: it has a critical extension");
  }
  if (X509_CRL_get0_nextUpdate(list) == nullptr) {
    return corrupt("of " + read.issuer + " has no date for its next update");
  }
  const auto from = to_wall_time(X509_CRL_get0_lastUpdate(list));
  const auto next = to_wall_time(X509_CRL_get0_nextUpdate(list));
  if (!from || !next) return corrupt("of " + read.issuer + " has times that cannot be read");
  read.this_update = *from;
  read.next_update = *next;
  STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(list);
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const X509_REVOKED* entry = sk_X509_REVOKED_value(entries, i);
    if (X509_REVOKED_get_ext_by_critical(entry, 1, -1) >= 0) {
      return corrupt("of " + read.issuer + " has an entry that may concern another issuer");
    }
    read.serials.insert(to_hex(X509_REVOKED_get0_serialNumber(entry)));
  }
  return read;
}

Result<std::vector<OwnedCrl>> parse(std::string_view bytes) {
  std::vector<OwnedCrl> lists;
  const OwnedBio bio = reader(bytes);
  if (bytes.find("-----BEGIN ") == std::string_view::npos) {
    lists.emplace_back(d2i_X509_CRL_bio(bio.get(), nullptr));
    if (lists.back() == nullptr || BIO_pending(bio.get()) != 0) {
      return openssl_failure(Errc::kCorrupt, "the revocation list is neither PEM nor DER");
    }
    return lists;
  }
  const auto no_password = [](char*, int, int, void*) { return -1; };
  while (X509_CRL* list = PEM_read_bio_X509_CRL(bio.get(), nullptr, no_password, nullptr)) {
    lists.emplace_back(list);
  }
  // Only the end of the text ends a bundle in order; anything else hides lists after it.
  if (lists.empty() || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return openssl_failure(Errc::kCorrupt, "the revocation list cannot be read");
  }
  ERR_clear_error();
  return lists;
}

bool add_entry(X509_CRL* list, const RevokedSerial& revoked) {
  const OwnedInteger serial = integer_from_hex(revoked.serial);
  X509_REVOKED* entry = serial == nullptr ? nullptr : X509_REVOKED_new();
  if (entry == nullptr) return false;
  if (X509_REVOKED_set_serialNumber(entry, serial.get()) == 1 &&
      X509_REVOKED_set_revocationDate(entry, to_asn1_time(revoked.when).get()) == 1 &&
      X509_CRL_add0_revoked(list, entry) == 1) {
    return true;
  }
  X509_REVOKED_free(entry);
  return false;
}

bool add_extensions(X509_CRL* list, X509* authority, std::uint64_t number) {
  const OwnedInteger value(ASN1_INTEGER_new());
  X509V3_CTX context;
  X509V3_set_ctx(&context, authority, nullptr, nullptr, list, 0);
  X509V3_set_ctx_nodb(&context);
  const Owned<X509_EXTENSION, X509_EXTENSION_free> key_id(
      X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid:always"));
  return value != nullptr && ASN1_INTEGER_set_uint64(value.get(), number) == 1 &&
         X509_CRL_add1_ext_i2d(list, NID_crl_number, value.get(), 0, 0) == 1 && key_id != nullptr &&
         X509_CRL_add_ext(list, key_id.get(), -1) == 1;
}

}  // namespace

Result<std::vector<RevocationList>> read_revocation_lists(
    std::string_view bytes, std::span<const Certificate> authorities) {
  const auto parsed = parse(bytes);
  if (!parsed) return parsed.error();
  std::vector<RevocationList> lists;
  for (const OwnedCrl& each : *parsed) {
    auto list = read_verified(each.get(), authorities);
    if (!list) return list.error();
    lists.push_back(std::move(*list));
  }
  return lists;
}

Result<std::string> make_revocation_list(const RevocationOrder& order, const Certificate& authority,
                                         const PrivateKey& key) {
  const OwnedCrl made(X509_CRL_new());
  MUSTER_CHECK(made != nullptr);
  X509_CRL* list = made.get();
  bool good = X509_CRL_set_version(list, X509_CRL_VERSION_2) == 1 &&
              X509_CRL_set_issuer_name(list, X509_get_subject_name(authority.get())) == 1 &&
              X509_CRL_set1_lastUpdate(list, to_asn1_time(order.this_update).get()) == 1 &&
              X509_CRL_set1_nextUpdate(list, to_asn1_time(order.next_update).get()) == 1;
  for (const RevokedSerial& each : order.revoked) good = good && add_entry(list, each);
  const OwnedBio bio = writer();
  good = good && X509_CRL_sort(list) == 1 && add_extensions(list, authority.get(), order.number) &&
         X509_CRL_sign(list, key.get(), EVP_sha256()) != 0 &&
         PEM_write_bio_X509_CRL(bio.get(), list) == 1;
  if (!good) return openssl_failure(Errc::kInvalid, "cannot make the revocation list");
  return written(bio.get());
}

}  // namespace muster::pki
