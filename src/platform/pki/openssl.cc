#include "platform/pki/openssl.h"

#include <openssl/err.h>

#include <ctime>
#include <limits>

#include "base/check.h"
#include "base/text.h"

namespace muster::pki {
namespace {

void free_text(char* text) {
  OPENSSL_free(text);
}

}  // namespace

Error openssl_failure(Errc code, const std::string& what) {
  // The first error is the cause, those after it are its consequences.
  const char* reason = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return {code, what + (reason == nullptr ? "" : std::string(": ") + reason)};
}

OwnedBio reader(std::string_view bytes) {
  MUSTER_CHECK(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  OwnedBio bio(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
  MUSTER_CHECK(bio != nullptr);
  return bio;
}

OwnedBio writer() {
  OwnedBio bio(BIO_new(BIO_s_mem()));
  MUSTER_CHECK(bio != nullptr);
  return bio;
}

std::string written(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string to_hex(const ASN1_INTEGER* number) {
  const OwnedNumber big(ASN1_INTEGER_to_BN(number, nullptr));
  MUSTER_CHECK(big != nullptr);
  const Owned<char, free_text> text(BN_bn2hex(big.get()));
  MUSTER_CHECK(text != nullptr);
  const std::string hex = to_lower(text.get());
  const std::size_t first = hex.find_first_not_of('0');
  return first == std::string::npos ? "0" : hex.substr(first);
}

OwnedInteger integer_from_hex(const std::string& hex) {
  BIGNUM* parsed = nullptr;
  const int digits = BN_hex2bn(&parsed, hex.c_str());
  const OwnedNumber big(parsed);
  if (digits <= 0 || static_cast<std::size_t>(digits) != hex.size()) return nullptr;
  return OwnedInteger(BN_to_ASN1_INTEGER(big.get(), nullptr));
}

Result<WallTime> to_wall_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) {
    return {Errc::kCorrupt, "one of its times cannot be read"};
  }
  return wall_from_ms(std::int64_t{::timegm(&parts)} * 1000);
}

OwnedTime to_asn1_time(WallTime time) {
  OwnedTime converted(ASN1_TIME_set(nullptr, static_cast<std::time_t>(to_ms(time) / 1000)));
  MUSTER_CHECK(converted != nullptr);
  return converted;
}

std::string to_text(const X509_NAME* name) {
  const OwnedBio bio = writer();
  MUSTER_CHECK(X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253) >= 0);
  return written(bio.get());
}

}  // namespace muster::pki
