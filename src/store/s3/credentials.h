#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "platform/http/http_client.h"
#include "store/s3/environment.h"
#include "store/s3/sigv4.h"
#include "store/store.h"

namespace muster::s3 {

struct TimedCredentials {
  Credentials credentials;
  std::optional<MonoTime> expires;  ///< By this machine's boot clock.
};

/// A source of credentials.
struct CredentialSource {
  std::string name;  ///< For people.
  std::function<void(MonoTime by, Callback<TimedCredentials> done)> fetch;
};

/// The addresses of link-local services and STS; tests use a server of their own.
struct CredentialEndpoints {
  std::string container = "http://169.254.170.2";
  std::string instance = "http://169.254.169.254";
  std::string sts;  ///< Empty for AWS's own in the region.
};

/// Chooses the first configured source of: environment variables, the profile's keys, web identity
/// (AssumeRoleWithWebIdentity), the container's endpoint, the instance's metadata (IMDSv2).
/// AWS_ENDPOINT_URL_STS and AWS_EC2_METADATA_SERVICE_ENDPOINT override `endpoints`. Returns
/// kInvalid or kUnsupported and one sentence if the configuration cannot work. The source uses
/// `loop` and `http` as long as it lives; its errors contain no secret.
[[nodiscard]] Result<CredentialSource> choose_credential_source(const Environment& environment,
                                                                const Profile& profile,
                                                                const std::string& region,
                                                                CredentialEndpoints endpoints,
                                                                Loop& loop, HttpClient& http);

/// Provides current credentials: fetched on first use, renewed in the background before they
/// expire, one fetch at a time for any number of callers. A failed renewal is retried while the old
/// credentials are still valid.
///
/// Callers bound the number of waiting requests. Threads: loop thread only.
class CredentialProvider {
 public:
  CredentialProvider(Loop& loop, CredentialSource source)
      : loop_(loop), source_(std::move(source)) {}
  ~CredentialProvider();
  CredentialProvider(const CredentialProvider&) = delete;
  CredentialProvider& operator=(const CredentialProvider&) = delete;

  /// Calls `done` at once if credentials are available, otherwise when they have arrived; by the
  /// deadline in any case, then with kUnavailable.
  void get(MonoTime by, Callback<Credentials> done);
  /// The store refused these: the next get() fetches new ones, unless that has already happened.
  void reject(const Credentials& refused);

 private:
  struct Waiter {
    Callback<Credentials> done;
    Loop::TimerId timer;
  };

  void fetch();
  void fetched(Result<TimedCredentials> result);

  Loop& loop_;
  CredentialSource source_;
  std::optional<TimedCredentials> current_;
  MonoTime renew_at_ = MonoTime::max();
  bool fetching_ = false;
  std::uint64_t next_waiter_ = 0;
  std::map<std::uint64_t, Waiter> waiters_;
  Lifetime lifetime_;
};

}  // namespace muster::s3
