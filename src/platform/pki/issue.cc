#include "platform/pki/issue.h"

#include "base/check.h"
#include "platform/pki/openssl.h"

namespace muster::pki {
namespace {

using Use = CertificateOrder::Use;

bool set_serial(X509* certificate) {
  const OwnedNumber number(BN_new());
  return number != nullptr &&
         BN_rand(number.get(), 128, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_subject(X509* certificate, const std::string& name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509V3_CTX& context, int nid, const char* value) {
  const Owned<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// Built piece by piece, not from a line of configuration: no name can smuggle in another.
bool add_alternative_names(X509* certificate, const CertificateOrder& order) {
  const Owned<GENERAL_NAMES, GENERAL_NAMES_free> names(GENERAL_NAMES_new());
  const auto add = [&](int type, ASN1_STRING* value) {
    GENERAL_NAME* name = value == nullptr ? nullptr : GENERAL_NAME_new();
    if (name == nullptr || sk_GENERAL_NAME_push(names.get(), name) == 0) {
      ASN1_STRING_free(value);
      GENERAL_NAME_free(name);
      return false;
    }
    GENERAL_NAME_set0_value(name, type, value);
    return true;
  };
  const auto text = [](const std::string& value) -> ASN1_STRING* {
    ASN1_STRING* string = ASN1_IA5STRING_new();
    if (string != nullptr) {
      MUSTER_CHECK(ASN1_STRING_set(string, value.data(), static_cast<int>(value.size())) == 1);
    }
    return string;
  };
  for (const auto& each : order.dns_names) {
    if (!add(GEN_DNS, text(each))) return false;
  }
  for (const auto& each : order.ip_addresses) {
    if (!add(GEN_IPADD, a2i_IPADDRESS(each.c_str()))) return false;
  }
  for (const auto& each : order.uris) {
    if (!add(GEN_URI, text(each))) return false;
  }
  return sk_GENERAL_NAME_num(names.get()) == 0 ||
         X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

bool add_extensions(X509* certificate, X509* authority, const CertificateOrder& order) {
  const bool is_authority = order.use == Use::kAuthority;
  X509V3_CTX context;
  X509V3_set_ctx(&context, authority, certificate, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  const auto add = [&](int nid, const char* value) {
    return add_extension(certificate, context, nid, value);
  };
  // RSA keys may sign but not encrypt: TLS 1.3 needs no more, and old key exchanges are ruled out.
  return add(NID_basic_constraints,
             is_authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
         add(NID_key_usage,
             is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
         (is_authority ||
          add(NID_ext_key_usage,
              order.use == Use::kServerAndClient ? "serverAuth,clientAuth" : "clientAuth")) &&
         add(NID_subject_key_identifier, "hash") &&
         add(NID_authority_key_identifier, "keyid:always") &&
         add_alternative_names(certificate, order);
}

/// The certificates in it belong to others.
void free_stack(STACK_OF(X509) * stack) {
  sk_X509_free(stack);
}

Result<Certificate> make(const CertificateOrder& order, const PrivateKey& key, X509* authority,
                         const PrivateKey& authority_key) {
  Owned<X509, X509_free> made(X509_new());
  MUSTER_CHECK(made != nullptr);
  X509* certificate = made.get();
  X509* issuer = authority == nullptr ? certificate : authority;
  const bool good = X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
                    set_subject(certificate, order.common_name) &&
                    X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
                    X509_set1_notBefore(certificate, to_asn1_time(order.not_before).get()) == 1 &&
                    X509_set1_notAfter(certificate, to_asn1_time(order.not_after).get()) == 1 &&
                    X509_set_pubkey(certificate, key.get()) == 1 &&
                    add_extensions(certificate, issuer, order) &&
                    X509_sign(certificate, authority_key.get(), EVP_sha256()) != 0;
  if (!good) return openssl_failure(Errc::kInvalid, "cannot make this certificate");
  return Certificate::adopt(made.release());
}

}  // namespace

Result<Certificate> issue(const CertificateOrder& order, const PrivateKey& key,
                          const Certificate& authority, const PrivateKey& authority_key) {
  return make(order, key, authority.get(), authority_key);
}

Result<Certificate> issue_authority(const CertificateOrder& order, const PrivateKey& key) {
  return make(order, key, nullptr, key);
}

Result<std::string> bundle_p12(const std::string& name, const std::string& password,
                               const Certificate& certificate, const PrivateKey& key,
                               const Certificate& authority) {
  const Owned<STACK_OF(X509), free_stack> others(sk_X509_new_null());
  MUSTER_CHECK(others != nullptr && sk_X509_push(others.get(), authority.get()) == 1);
  const Owned<PKCS12, PKCS12_free> bundle(PKCS12_create(
      password.c_str(), name.c_str(), key.get(), certificate.get(), others.get(), 0, 0, 0, 0, 0));
  const OwnedBio bio = writer();
  if (bundle == nullptr || i2d_PKCS12_bio(bio.get(), bundle.get()) != 1) {
    return openssl_failure(Errc::kUnavailable, "cannot make the PKCS#12 file");
  }
  return written(bio.get());
}

}  // namespace muster::pki
