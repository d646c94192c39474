#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/s3/environment.h"
#include "store/url.h"

namespace muster::s3 {

/// How conditional writes state a revision. HTTP requires quotes and AWS accepts either form; Ceph
/// up to 18 answers 412 to every quoted revision.
enum class IfMatch { kAuto, kQuoted, kUnquoted };

/// Whether a part of the path is . or .., which some servers and proxies resolve.
[[nodiscard]] bool has_dot_part(std::string_view path);

/// The address of a bucket and how to reach it: s3://bucket/prefix?endpoint=…&region=…
struct Config {
  std::string bucket;
  std::string prefix;  ///< Empty, or ends with '/'.
  std::string scheme;  ///< Of the endpoint: http or https.
  std::string host;    ///< Of the endpoint, with its port unless it is the scheme's default.
  std::string region;
  bool virtual_hosted = false;  ///< bucket.host/key instead of host/bucket/key.
  IfMatch if_match = IfMatch::kAuto;
  std::string ca_file;

  /// Reads the address first, then AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION,
  /// AWS_DEFAULT_REGION, AWS_CA_BUNDLE and the profile's region, then AWS's own endpoint. Returns
  /// kInvalid and one sentence that says what to write instead.
  [[nodiscard]] static Result<Config> from(const Url& url, const Environment& environment,
                                           const Profile& profile);

  [[nodiscard]] std::string endpoint() const { return scheme + "://" + host; }
  /// The host that requests are sent to, and the path of a key there ("" for the bucket itself).
  [[nodiscard]] std::string request_host() const;
  [[nodiscard]] std::string request_path(const std::string& key) const;
};

}  // namespace muster::s3
