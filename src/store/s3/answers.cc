#include "store/s3/answers.h"

#include <algorithm>

#include "base/text.h"
#include "store/s3/timestamps.h"
#include "store/s3/xml.h"

namespace muster::s3 {
namespace {

using Kind = Question::Kind;
using Remedy = Refusal::Remedy;

constexpr std::string_view kStaleCredentials[] = {"ExpiredToken", "TokenRefreshRequired",
                                                  "InvalidAccessKeyId", "InvalidToken"};

bool is_word(std::string_view text) {
  return text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

template <std::size_t N>
bool one_of(std::string_view word, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string unquote(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return std::string(etag);
}

/// Never below zero.
std::optional<Duration> age_between(std::optional<WallTime> written, std::optional<WallTime> now) {
  if (!written || !now) return {};
  return std::max<Duration>(*now - *written, Duration(0));
}

Duration retry_after(const HttpResponse& response) {
  const std::string_view text = response.header("retry-after");
  if (const auto seconds = parse_unsigned(text)) {
    return std::chrono::seconds(std::min<std::uint64_t>(*seconds, 3600));
  }
  const auto until = parse_http_date(text);
  return age_between(parse_http_date(response.header("date")), until).value_or(Duration(0));
}

std::string answered(const HttpResponse& response, const std::string& code) {
  std::string text = "HTTP " + std::to_string(response.status);
  if (!code.empty()) text += " " + code;
  return text;
}

/// What concerns credentials, by its code: AWS gives some of these with 400, others with 403.
bool is_denial(int status, std::string_view code) {
  return status == 401 || status == 403 || one_of(code, kStaleCredentials);
}

Refusal denied(const HttpResponse& response, const Question& q, const std::string& code) {
  const std::string end = " (" + answered(response, code) + " from " + q.endpoint + ")";
  if (code == "RequestTimeTooSkewed") {
    return {{Errc::kDenied, "the clocks of this machine and of the store differ too much" + end},
            Remedy::kSetClock};
  }
  if (one_of(code, kStaleCredentials)) {
    return {{Errc::kDenied,
             "the store does not accept the access key or its session token; check that they are "
             "valid for this endpoint" +
                 end},
            Remedy::kRenewCredentials};
  }
  if (code == "SignatureDoesNotMatch") {
    return {{Errc::kDenied, "the store does not accept the signature; check the secret key" + end}};
  }
  return {{Errc::kDenied, "the credentials do not allow this request on bucket " + q.bucket +
                              "; check that they may get, put, delete and list there" + end}};
}

Refusal absent(const HttpResponse& response, const Question& q, const std::string& code) {
  if (code == "NoSuchBucket") {
    return {{Errc::kInvalid, "bucket " + q.bucket + " does not exist at " + q.endpoint +
                                 "; create it, or correct the store's address"}};
  }
  // Without this word it may be some proxy's or web server's 404, which says nothing about a key.
  if (code == "NoSuchKey" && q.kind == Kind::kPut) {
    return {{Errc::kConflict, q.key + " does not exist any more"}};
  }
  if (code == "NoSuchKey") return {{Errc::kNotFound, q.key + " does not exist"}};
  return {{Errc::kInvalid, q.endpoint + " answers " + answered(response, code) +
                               "; check that it is an S3 endpoint"}};
}

std::string wrong_region(const HttpResponse& response, const Question& q) {
  std::string region(response.header("x-amz-bucket-region"));
  if (const auto root = parse_xml(response.body); region.empty() && root) {
    region = root->child_text("Region");
  }
  std::string text = "bucket " + q.bucket + " is not served by this endpoint and region";
  std::string letters = region;
  std::erase(letters, '-');
  if (!letters.empty() && is_word(letters)) text += "; set region=" + region;
  return text;
}

}  // namespace

Refusal judge(const HttpResponse& response, const Question& q) {
  const std::string code = parse_error_code(response.body);
  const int status = response.status;
  const std::string end = " (" + answered(response, code) + " from " + q.endpoint + ")";
  if (status == 304 && q.kind == Kind::kGet)
    return {{Errc::kUnchanged, q.key + " has not changed"}};
  if (status == 301 || status == 307 || code == "AuthorizationHeaderMalformed") {
    return {{Errc::kInvalid, wrong_region(response, q) + end}};
  }
  if (is_denial(status, code)) return denied(response, q, code);
  if (status == 404) return absent(response, q, code);
  if (status == 412 && q.write())
    return {{Errc::kConflict, "another writer came first at " + q.key}};
  if (status == 409 && q.write()) {
    return {{Errc::kAmbiguous, "another write to " + q.key + " is under way" + end}};
  }
  if (status == 429 || (status == 503 && code == "SlowDown")) {
    return {{Errc::kThrottled, "the store throttles requests" + end, retry_after(response)},
            q.write() ? Remedy::kNone : Remedy::kRetry};
  }
  if (status == 501 || status == 405) {
    const bool conditional = q.write() && q.when != Precondition::Kind::kNone;
    return {
        {Errc::kUnsupported,
         (conditional ? "the store does not offer conditional writes; use one that does, or check "
                        "that the address is that of an S3 endpoint"
                      : "the server does not know this request; check that the address is that of "
                        "an S3 endpoint") +
             end}};
  }
  // A read states no condition that could fail so: something on the way is in trouble.
  if (status == 412) {
    return {{Errc::kUnavailable, "the store refused a read as if it were a write" + end},
            Remedy::kRetry};
  }
  const bool refused = status >= 400 && status < 500 && code != "RequestTimeout";
  if (refused) return {{Errc::kInvalid, "the store refused the request" + end}};
  if (q.write()) return {{Errc::kAmbiguous, "the write to " + q.key + " may have landed" + end}};
  return {{Errc::kUnavailable, "the store failed" + end}, Remedy::kRetry};
}

Refusal judge(const Error& transport, const Question& q) {
  if (q.write()) {
    const bool unsent = transport.code == Errc::kUnavailable;
    return {{unsent ? Errc::kUnavailable : Errc::kAmbiguous, transport.message}};
  }
  if (transport.code == Errc::kCorrupt) return {transport};
  return {{Errc::kUnavailable, transport.message}, Remedy::kRetry};
}

std::string parse_error_code(std::string_view body) {
  if (trim(body).empty()) return "";
  const auto root = parse_xml(body);
  if (!root || root->name != "Error") return "";
  const std::string_view code = trim(root->child_text("Code"));
  return is_word(code) ? std::string(code) : "";
}

Revision revision_of(const HttpResponse& response) {
  return Revision(unquote(response.header("etag")));
}

Result<Object> parse_object(HttpResponse response) {
  Revision revision = revision_of(response);
  if (revision.value().empty()) {
    return {Errc::kCorrupt, "the store answered without an ETag, so the object has no revision"};
  }
  // No age: a Date and a Last-Modified may come from the clocks of two gateways.
  return Object{std::move(response.body), std::move(revision), std::nullopt};
}

Result<ListPage> parse_list(std::string_view body, std::string_view prefix) {
  const auto root = parse_xml(body);
  if (!root) return root.error();
  const Error corrupt{Errc::kCorrupt, "the store's list is not a ListObjectsV2 answer"};
  if (root->name != "ListBucketResult") return corrupt;
  const bool encoded = root->child_text("EncodingType") == "url";
  ListPage page;
  for (const XmlElement& entry : root->children) {
    if (entry.name != "Contents") continue;
    std::string key(entry.child_text("Key"));
    if (encoded) {
      // AWS writes a space as '+'; a plus sign itself is always escaped.
      std::replace(key.begin(), key.end(), '+', ' ');
      auto decoded = percent_decode(key);
      if (!decoded) return corrupt;
      key = std::move(*decoded);
    }
    std::string revision = unquote(trim(entry.child_text("ETag")));
    if (!key.starts_with(prefix) || revision.empty()) return corrupt;
    page.objects.push_back({key.substr(prefix.size()), Revision(std::move(revision)), {}});
  }
  if (trim(root->child_text("IsTruncated")) == "true") {
    page.next = root->child_text("NextContinuationToken");
    if (page.next.empty()) return corrupt;
  }
  return page;
}

}  // namespace muster::s3
