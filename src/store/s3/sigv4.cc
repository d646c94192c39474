#include "store/s3/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "base/text.h"
#include "store/s3/timestamps.h"

namespace muster::s3 {
namespace {

using Sha256 = std::array<unsigned char, 32>;

/// Like EVP_Digest below it fails only without memory, or in a library without SHA-256: neither
/// keys nor bytes can make it.
std::string hmac(std::string_view key, std::string_view data) {
  Sha256 out{};
  unsigned int size = out.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  MUSTER_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, data.size(),
                    out.data(), &size) != nullptr);
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

std::string hex(std::string_view data) {
  return to_hex({reinterpret_cast<const unsigned char*>(data.data()), data.size()});
}

bool unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string uri_encode(std::string_view text, bool keep_slash) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    if (unreserved(c) || (keep_slash && c == '/')) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kHex[byte >> 4], kHex[byte & 0xF]};
  }
  return out;
}

std::string canonical_query(const Request& request) {
  std::vector<std::string> pairs;
  pairs.reserve(request.query.size());
  for (const auto& [name, value] : request.query) {
    pairs.push_back(uri_encode(name) + "=" + uri_encode(value));
  }
  std::sort(pairs.begin(), pairs.end());
  std::string out;
  for (const std::string& pair : pairs) out += (out.empty() ? "" : "&") + pair;
  return out;
}

std::string sha256_hex(std::string_view data) {
  Sha256 out{};
  unsigned int size = out.size();
  // As hmac(): no bytes make it fail.
  MUSTER_CHECK(EVP_Digest(data.data(), data.size(), out.data(), &size, EVP_sha256(), nullptr) == 1);
  return to_hex(out);
}

void Signer::sign(Request& request, const Credentials& credentials, WallTime now) {
  const std::string date = format_amz_date(now);
  const std::string day = date.substr(0, 8);
  const std::string payload_hash = sha256_hex(request.body);
  request.headers.emplace_back("x-amz-date", date);
  request.headers.emplace_back("x-amz-content-sha256", payload_hash);
  if (!credentials.session_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", credentials.session_token);
  }

  auto headers = request.headers;
  headers.emplace_back("host", request.host);
  std::sort(headers.begin(), headers.end());
  std::string canonical = request.method + "\n" + uri_encode(request.path, true) + "\n" +
                          canonical_query(request) + "\n";
  std::string names;
  for (const auto& [name, value] : headers) {
    canonical += name + ":" + std::string(trim(value)) + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  canonical += "\n" + names + "\n" + payload_hash;

  const std::string scope = day + "/" + region_ + "/" + service_ + "/aws4_request";
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + sha256_hex(canonical);
  const std::string signature = hex(hmac(key_for(credentials, day), to_sign));
  request.headers.emplace_back(
      "authorization", "AWS4-HMAC-SHA256 Credential=" + credentials.access_key_id + "/" + scope +
                           ", SignedHeaders=" + names + ", Signature=" + signature);
}

const std::string& Signer::key_for(const Credentials& credentials, const std::string& day) {
  if (key_.empty() || key_day_ != day || key_secret_ != credentials.secret_access_key) {
    key_secret_ = credentials.secret_access_key;
    key_day_ = day;
    key_ = hmac(hmac(hmac(hmac("AWS4" + key_secret_, day), region_), service_), "aws4_request");
  }
  return key_;
}

}  // namespace muster::s3
