#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace muster::s3 {

/// The credentials of a signature. The last two are secrets: never print them.
struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  ///< Empty for long-lived keys.
};

/// A request before it is signed. Nothing here is encoded yet.
struct Request {
  std::string method = "GET";
  std::string host;  ///< As in the Host header.
  std::string path = "/";
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<std::pair<std::string, std::string>> headers;  ///< Names in lower case.
  std::string body;
};

/// Percent-encodes everything but letters, digits and -._~ (and '/', if kept).
[[nodiscard]] std::string uri_encode(std::string_view text, bool keep_slash = false);
/// name=value&…, encoded and sorted, for both the signature and the URL.
[[nodiscard]] std::string canonical_query(const Request& request);
[[nodiscard]] std::string sha256_hex(std::string_view data);

/// Signs requests by AWS Signature Version 4, with the payload's real hash and, as S3 requires, the
/// path encoded once. Caches the key derived for the last day and secret. Threads: one.
class Signer {
 public:
  Signer(std::string region, std::string service)
      : region_(std::move(region)), service_(std::move(service)) {}

  /// Adds x-amz-date, x-amz-content-sha256, x-amz-security-token and authorization. All existing
  /// headers become part of the signature.
  void sign(Request& request, const Credentials& credentials, WallTime now);

 private:
  [[nodiscard]] const std::string& key_for(const Credentials& credentials, const std::string& day);

  std::string region_;
  std::string service_;
  std::string key_secret_;
  std::string key_day_;
  std::string key_;
};

}  // namespace muster::s3
