#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform/http/http_client.h"
#include "store/store.h"

namespace muster::s3 {

/// The request, as far as the meaning of an answer depends on it.
struct Question {
  enum class Kind { kGet, kPut, kRemove, kList };
  Kind kind = Kind::kGet;
  Precondition::Kind when = Precondition::Kind::kNone;
  std::string bucket;
  std::string key;       ///< For messages.
  std::string endpoint;  ///< For messages.

  [[nodiscard]] bool write() const { return kind == Kind::kPut || kind == Kind::kRemove; }
};

/// A refusal, and its remedy. The first two remedies are safe for writes too, because the request
/// was refused before anything was done; kRetry is used only for reads.
struct Refusal {
  enum class Remedy { kNone, kSetClock, kRenewCredentials, kRetry };
  Error error;
  Remedy remedy = Remedy::kNone;
};

/// Classifies an answer with any status but 2xx. Four cases that are easily confused are kept
/// apart: 412 is kConflict; 409 and 5xx on a write settle nothing and are kAmbiguous (Ceph sends
/// 500 to losers of a race, AWS 409 while another conditional write is under way); 429 and SlowDown
/// are kThrottled. Of the body, only S3's one-word code appears in a message.
[[nodiscard]] Refusal judge(const HttpResponse& response, const Question& question);

/// Classifies a request without an answer, by the HTTP client's error.
[[nodiscard]] Refusal judge(const Error& transport, const Question& question);

/// The word in <Error><Code>; empty if the body has none.
[[nodiscard]] std::string parse_error_code(std::string_view body);

/// Revisions are ETags without their quotes. Empty if the answer has none.
[[nodiscard]] Revision revision_of(const HttpResponse& response);
/// The object of a 200. Returns kCorrupt without an ETag, because it would have no revision.
[[nodiscard]] Result<Object> parse_object(HttpResponse response);
/// The page of a ListObjectsV2 answer; `prefix` is removed from each key. `now` is the store's
/// time, for the ages.
[[nodiscard]] Result<ListPage> parse_list(std::string_view body, std::string_view prefix);

}  // namespace muster::s3
