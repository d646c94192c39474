#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform/http/http_client.h"
#include "store/store.h"

namespace muster::s3 {

/// What was asked, as far as the meaning of an answer depends on it.
struct Question {
  enum class Kind { kGet, kPut, kRemove, kList };
  Kind kind = Kind::kGet;
  Precondition::Kind when = Precondition::Kind::kNone;
  std::string bucket;
  std::string key;       ///< For messages.
  std::string endpoint;  ///< For messages.

  [[nodiscard]] bool write() const { return kind == Kind::kPut || kind == Kind::kRemove; }
};

/// A refusal, and what may turn it into an answer. The first two remedies are safe for writes too,
/// because the request was refused before anything was done; kRetry is only ever given for reads.
struct Refusal {
  enum class Remedy { kNone, kSetClock, kRenewCredentials, kRetry };
  Error error;
  Remedy remedy = Remedy::kNone;
};

/// What an answer with any status but 2xx means. The four that are easily confused are kept apart:
/// 412 is kConflict, 409 and 5xx on a write settle nothing and are kAmbiguous (Ceph gives 500 to
/// losers of a race, AWS 409 while another conditional write is under way), 429 and SlowDown are
/// kThrottled. Nothing of the body but S3's one-word code reaches a message.
[[nodiscard]] Refusal judge(const HttpResponse& response, const Question& question);

/// What a request that got no answer means, given the HTTP client's error.
[[nodiscard]] Refusal judge(const Error& transport, const Question& question);

/// The word in <Error><Code>; empty when the body has none.
[[nodiscard]] std::string parse_error_code(std::string_view body);

/// Revisions are ETags without their quotes. Empty when the answer has none.
[[nodiscard]] Revision revision_of(const HttpResponse& response);
/// The object of a 200. kCorrupt without an ETag: it would have no revision.
[[nodiscard]] Result<Object> parse_object(HttpResponse response);
/// The page of a ListObjectsV2 answer; `prefix` is cut off each key. `now` is the store's time, for
/// the ages.
[[nodiscard]] Result<ListPage> parse_list(std::string_view body, std::string_view prefix);

}  // namespace muster::s3
