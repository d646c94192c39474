#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

/// What the files beside this one share: owners for OpenSSL's objects and its few conversions.
/// Nobody else includes it. Any thread.
namespace muster::pki {

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <typename T, auto Free>
using Owned = std::unique_ptr<T, Freer<Free>>;

using OwnedBio = Owned<BIO, BIO_free_all>;
using OwnedNumber = Owned<BIGNUM, BN_free>;
using OwnedInteger = Owned<ASN1_INTEGER, ASN1_INTEGER_free>;
using OwnedTime = Owned<ASN1_TIME, ASN1_TIME_free>;
using OwnedCrl = Owned<X509_CRL, X509_CRL_free>;

/// The failure of the call just made, with OpenSSL's own word for it; forgets its queue of errors.
[[nodiscard]] Error openssl_failure(Errc code, const std::string& what);

/// Reads `bytes`, which must outlive it.
[[nodiscard]] OwnedBio reader(std::string_view bytes);
[[nodiscard]] OwnedBio writer();
[[nodiscard]] std::string written(BIO* bio);

/// Lower-case hexadecimal without leading zeros; "0" for zero.
[[nodiscard]] std::string to_hex(const ASN1_INTEGER* number);
/// Null when it is not hexadecimal.
[[nodiscard]] OwnedInteger integer_from_hex(const std::string& hex);

/// kCorrupt when it is no time at all.
[[nodiscard]] Result<WallTime> to_wall_time(const ASN1_TIME* time);
[[nodiscard]] OwnedTime to_asn1_time(WallTime time);

/// On one line, as RFC 2253 writes it.
[[nodiscard]] std::string to_text(const X509_NAME* name);

}  // namespace muster::pki
