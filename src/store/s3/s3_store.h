#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "platform/event_loop.h"
#include "platform/http/http_client.h"
#include "store/s3/answers.h"
#include "store/s3/config.h"
#include "store/s3/credentials.h"
#include "store/s3/sigv4.h"
#include "store/store.h"
#include "store/url.h"

namespace muster {

/// Counts of an S3 store's requests.
struct S3Stats {
  std::uint64_t requests = 0;  ///< Signed requests, retries included; not those for credentials.
  std::uint64_t retries = 0;   ///< Of reads, after a failure or by Retry-After.
  std::uint64_t clock_settings = 0;  ///< Corrections of this clock by the store's Date.
};

/// s3://bucket/prefix?endpoint=…&region=…&style=path|virtual&if-match=auto|quoted|unquoted&ca-file=…
///
/// Revisions are ETags. On many stores these are hashes of the body, so two writes of the same body
/// have the same revision: callers must put a nonce into each body. The probe checks whether a
/// store honours conditions at all. The store learns how to quote If-Match from its first writes at
/// a revision.
///
/// Failed reads are retried with jittered backoff within their deadline, as long as the store's
/// budget of retries lasts. A write that may have been performed is never retried; a write is sent
/// again only if the store refused it because of its time or session token.
///
/// remove() at a revision is kUnsupported, because some S3 stores ignore the condition and delete
/// anyway. Removing a missing object succeeds, because S3 does not report the difference.
class S3Store final : public ObjectStore {
 public:
  /// Returns kInvalid and one sentence if the address or the environment is insufficient. `clock`
  /// provides the time of day for signatures; null: the loop does.
  [[nodiscard]] static Result<std::unique_ptr<S3Store>> open(
      const Url& url, EventLoop& loop,
      const s3::Environment& environment = s3::process_environment(),
      s3::CredentialEndpoints endpoints = {}, const Clock* clock = nullptr);
  ~S3Store() override;

  [[nodiscard]] Capabilities capabilities() const override { return {}; }
  [[nodiscard]] std::string describe() const override;
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override;
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override;
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override;
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override;
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override;

  [[nodiscard]] const S3Stats& stats() const { return stats_; }

 private:
  struct Call;
  using CallPtr = std::shared_ptr<Call>;

  S3Store(EventLoop& loop, s3::Config config, const Clock* clock);
  [[nodiscard]] CallPtr make_call(s3::Question::Kind kind, const Key& key, Deadline by) const;
  void begin(CallPtr call);
  void send(CallPtr call, s3::Credentials credentials);
  void answered(CallPtr call, const s3::Credentials& credentials, Result<HttpResponse> answer);
  [[nodiscard]] bool mend(Call& call, s3::Refusal::Remedy remedy,
                          const Result<HttpResponse>& answer, const s3::Credentials& credentials);
  [[nodiscard]] bool may_misread(const Call& call) const;
  void respell(CallPtr call);
  [[nodiscard]] bool retry(const CallPtr& call, const Error& error);
  [[nodiscard]] Status check_key(const Key& key) const;
  template <typename T>
  void refuse(Callback<T> done, Error error);

  EventLoop& loop_;
  const Clock& clock_;
  const s3::Config config_;
  Random random_;
  s3::Signer signer_;
  HttpClient http_;
  std::unique_ptr<s3::CredentialProvider> credentials_;
  std::optional<bool> if_match_quoted_;        ///< Empty until a write at a revision was accepted.
  std::chrono::milliseconds clock_offset_{0};  ///< The store's clock minus this one.
  double retry_budget_;
  S3Stats stats_;
  Lifetime lifetime_;
};

/// S3Store::open() for callers that need only an ObjectStore.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_s3_store(const Url& url, EventLoop& loop);

}  // namespace muster
