#include "store/s3/s3_store.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "platform/system_clock.h"
#include "store/s3/timestamps.h"

namespace muster {

using s3::Question;
using s3::Refusal;
using Remedy = s3::Refusal::Remedy;

namespace {

constexpr std::size_t kKeyBytesMax = 1024;
constexpr unsigned kRetriesPerCall = 4;
constexpr Duration kBackoffFirst = 50ms;
constexpr Duration kBackoffMax = 2s;
/// Retries in a row for all calls together, so that a store in trouble is not asked many times as
/// often as a healthy one. Every read that succeeds gives a tenth of a retry back.
constexpr double kRetryBudgetMax = 20;
constexpr double kRetryBudgetGain = 0.1;

}  // namespace

struct S3Store::Call {
  Question question;
  s3::Request request;  ///< Unsigned: each sending has a signature of its own.
  Deadline by;
  std::function<void(Result<HttpResponse>)> done;
  unsigned retries = 0;
  std::optional<std::string> at;  ///< The ETag of an If-Match,
  bool quoted = true;             ///< and how it is spelt.
  bool respelt = false;           ///< It was sent in the other spelling, too.
  bool clock_set = false;
  bool credentials_renewed = false;
};

Result<std::unique_ptr<S3Store>> S3Store::open(const Url& url, EventLoop& loop,
                                               const s3::Environment& environment,
                                               s3::CredentialEndpoints endpoints,
                                               const Clock* clock) {
  auto profile = s3::load_profile(environment);
  if (!profile) return profile.error();
  auto config = s3::Config::from(url, environment, *profile);
  if (!config) return config.error();
  const std::string region = config->region;
  std::unique_ptr<S3Store> store(new S3Store(loop, std::move(*config), clock));
  auto source = s3::choose_credential_source(environment, *profile, region, std::move(endpoints),
                                             loop, store->http_);
  if (!source) return source.error();
  store->credentials_ = std::make_unique<s3::CredentialProvider>(loop, std::move(*source));
  return store;
}

S3Store::S3Store(EventLoop& loop, s3::Config config, const Clock* clock)
    : loop_(loop),
      clock_(clock != nullptr ? *clock : loop),
      config_(std::move(config)),
      random_(system_random()),
      signer_(config_.region, "s3"),
      http_(loop, {.ca_file = config_.ca_file}),
      retry_budget_(kRetryBudgetMax) {
  if (config_.if_match != s3::IfMatch::kAuto)
    if_match_quoted_ = config_.if_match == s3::IfMatch::kQuoted;
}

S3Store::~S3Store() = default;

std::string S3Store::describe() const {
  std::string where = config_.bucket + "/" + config_.prefix;
  where.pop_back();
  return "s3://" + where + " at " + config_.endpoint() + " (region " + config_.region + ")";
}

void S3Store::get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) {
  if (Status ok = check_key(key); !ok) return refuse(std::move(done), ok.error());
  CallPtr call = make_call(Question::Kind::kGet, key, by);
  if (unless) call->request.headers.emplace_back("if-none-match", '"' + unless->value() + '"');
  call->done = [done = std::move(done)](Result<HttpResponse> answer) {
    if (!answer) return done(answer.error());
    done(s3::parse_object(std::move(*answer)));
  };
  begin(std::move(call));
}

void S3Store::put(Key key, std::string body, Precondition when, Deadline by,
                  Callback<Revision> done) {
  if (Status ok = check_key(key); !ok) return refuse(std::move(done), ok.error());
  CallPtr call = make_call(Question::Kind::kPut, key, by);
  call->request.method = "PUT";
  call->request.body = std::move(body);
  call->question.when = when.kind;
  if (when.kind == Precondition::Kind::kAbsent) {
    call->request.headers.emplace_back("if-none-match", "*");
  } else if (when.kind == Precondition::Kind::kAtRevision) {
    call->at = when.revision.value();
    call->quoted = if_match_quoted_.value_or(true);
  }
  call->done = [done = std::move(done), key = std::move(key)](Result<HttpResponse> answer) {
    if (!answer) return done(answer.error());
    Revision revision = s3::revision_of(*answer);
    if (!revision.value().empty()) return done(std::move(revision));
    done({Errc::kAmbiguous, "the store accepted " + key + " but returned no ETag; read it back"});
  };
  begin(std::move(call));
}

void S3Store::guarded_put(Key, std::string, Precondition, Guard, Deadline,
                          Callback<Revision> done) {
  refuse(std::move(done), {Errc::kUnsupported, "S3 has no transactions over two objects"});
}

void S3Store::remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) {
  if (when) {
    return refuse(std::move(done),
                  {Errc::kUnsupported, "S3 stores do not reliably remove at a revision"});
  }
  if (Status ok = check_key(key); !ok) return refuse(std::move(done), ok.error());
  CallPtr call = make_call(Question::Kind::kRemove, key, by);
  call->request.method = "DELETE";
  call->done = [done = std::move(done)](const Result<HttpResponse>& answer) {
    if (!answer) return done(answer.error());
    done(Done{});
  };
  begin(std::move(call));
}

void S3Store::list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) {
  CallPtr call = make_call(Question::Kind::kList, "", by);
  call->request.path = config_.request_path("");
  call->request.query = {{"list-type", "2"},
                         {"max-keys", "1000"},
                         {"encoding-type", "url"},
                         {"prefix", config_.prefix + prefix}};
  if (!from.empty()) call->request.query.emplace_back("continuation-token", std::move(from));
  call->done = [done = std::move(done), cut = config_.prefix](const Result<HttpResponse>& answer) {
    if (!answer) return done(answer.error());
    done(s3::parse_list(answer->body, cut));
  };
  begin(std::move(call));
}

S3Store::CallPtr S3Store::make_call(Question::Kind kind, const Key& key, Deadline by) const {
  auto call = std::make_shared<Call>();
  call->question.kind = kind;
  call->question.bucket = config_.bucket;
  call->question.endpoint = config_.endpoint();
  call->question.key = key;
  call->request.host = config_.request_host();
  call->request.path = config_.request_path(config_.prefix + key);
  call->by = by;
  return call;
}

void S3Store::begin(CallPtr call) {
  credentials_->get(call->by, lifetime_.wrap([this, call](Result<s3::Credentials> credentials) {
    if (credentials) return send(call, std::move(*credentials));
    // Nothing was sent, so this is final for writes as well.
    refuse(std::move(call->done), credentials.error());
  }));
}

void S3Store::send(CallPtr call, s3::Credentials credentials) {
  s3::Request signed_request = call->request;
  if (call->at) {
    signed_request.headers.emplace_back("if-match",
                                        call->quoted ? '"' + *call->at + '"' : *call->at);
  }
  signer_.sign(signed_request, credentials, clock_.wall_now() + clock_offset_);
  HttpRequest http;
  http.method = signed_request.method;
  http.url =
      config_.scheme + "://" + signed_request.host + s3::uri_encode(signed_request.path, true);
  if (!signed_request.query.empty()) http.url += "?" + s3::canonical_query(signed_request);
  http.headers = std::move(signed_request.headers);
  http.body = std::move(signed_request.body);
  http.by = call->by;
  http.once = call->question.write();
  ++stats_.requests;
  http_.send(std::move(http),
             lifetime_.wrap([this, call = std::move(call), credentials = std::move(credentials)](
                                Result<HttpResponse> answer) mutable {
               answered(std::move(call), credentials, std::move(answer));
             }));
}

void S3Store::answered(CallPtr call, const s3::Credentials& credentials,
                       Result<HttpResponse> answer) {
  if (answer && answer->status >= 200 && answer->status < 300) {
    if (!call->question.write()) {
      retry_budget_ = std::min(kRetryBudgetMax, retry_budget_ + kRetryBudgetGain);
    }
    if (call->at) if_match_quoted_ = call->quoted;
    return call->done(std::move(answer));
  }
  if (answer && answer->status == 412 && may_misread(*call)) return respell(std::move(call));
  Refusal refusal =
      answer ? s3::judge(*answer, call->question) : s3::judge(answer.error(), call->question);
  if (mend(*call, refusal.remedy, answer, credentials)) return begin(std::move(call));
  if (refusal.remedy == Remedy::kRetry && retry(call, refusal.error)) return;
  if (call->respelt && refusal.error.code == Errc::kConflict) {
    refusal.error.message =
        "the store refused to write " + call->question.key +
        " at the revision that it returned, with and without quotes; either another writer came "
        "first, or this store does not honour If-Match";
  }
  call->done(std::move(refusal.error));
}

/// Removes the reason of a refusal that had no effect; true when it is worth asking again.
bool S3Store::mend(Call& call, Remedy remedy, const Result<HttpResponse>& answer,
                   const s3::Credentials& credentials) {
  if (remedy == Remedy::kRenewCredentials && !call.credentials_renewed) {
    call.credentials_renewed = true;
    credentials_->reject(credentials);
    return true;
  }
  if (remedy != Remedy::kSetClock || call.clock_set) return false;
  const auto date = s3::parse_http_date(answer->header("date"));
  if (!date) return false;
  call.clock_set = true;
  clock_offset_ = *date - clock_.wall_now();
  ++stats_.clock_settings;
  log_warn("the object store's clock differs from this machine's",
           {{"store", describe()}, {"ahead_by_ms", std::to_string(clock_offset_.count())}});
  return true;
}

/// Whether a store that refuses this write may have misread its If-Match. As soon as one write of
/// this spelling has been accepted, it is the condition that did not hold.
bool S3Store::may_misread(const Call& call) const {
  return config_.if_match == s3::IfMatch::kAuto && call.at && call.quoted &&
         !if_match_quoted_.value_or(false);
}

/// Looks whether the object is at the revision that a refused write named. Then the store, Ceph up
/// to 18 for one, did not understand the quotes, and the write is sent once more without them.
/// That is no repetition of a write that has landed: it would have changed the revision, and where
/// the first copy lands yet, the second one no longer finds it.
void S3Store::respell(CallPtr call) {
  const Key key = call->question.key;
  CallPtr look = make_call(Question::Kind::kGet, key, call->by);
  look->done = [this, call = std::move(call), key](const Result<HttpResponse>& found) {
    if (!found || s3::revision_of(*found).value() != *call->at) {
      return call->done(Error{Errc::kConflict, "another writer came first at " + key});
    }
    call->quoted = false;
    call->respelt = true;
    begin(call);
  };
  begin(std::move(look));
}

/// Schedules another attempt; false when the call, the budget or the deadline allows none.
bool S3Store::retry(const CallPtr& call, const Error& error) {
  if (call->retries >= kRetriesPerCall || retry_budget_ < 1) return false;
  const Duration ceiling = std::min(kBackoffMax, kBackoffFirst * (1U << call->retries));
  const Duration delay = std::max(random_.between(ceiling / 2, ceiling), error.retry_after);
  const MonoTime when = loop_.now() + delay;
  if (when >= call->by) return false;
  ++call->retries;
  ++stats_.retries;
  retry_budget_ -= 1;
  loop_.at(when, lifetime_.wrap([this, call] { begin(call); }));
  return true;
}

Status S3Store::check_key(const Key& key) const {
  const bool empty_part =
      key.empty() || key.front() == '/' || key.back() == '/' || key.find("//") != Key::npos;
  if (empty_part)
    return {Errc::kInvalid, "\"" + key +
                                "\" is not a valid key: a part of it is "
                                "empty"};
  if (s3::has_dot_part(key))
    return {Errc::kInvalid, "\"" + key + "\" is not a valid key: a part is . or .."};
  if (config_.prefix.size() + key.size() > kKeyBytesMax) {
    return {Errc::kInvalid, "the key " + key.substr(0, 64) + "… is longer than 1024 bytes"};
  }
  return Done{};
}

template <typename T>
void S3Store::refuse(Callback<T> done, Error error) {
  loop_.post(lifetime_.wrap([done = std::move(done), error = std::move(error)] { done(error); }));
}

Result<std::unique_ptr<ObjectStore>> open_s3_store(const Url& url, EventLoop& loop) {
  auto store = S3Store::open(url, loop);
  if (!store) return store.error();
  return std::unique_ptr<ObjectStore>(std::move(*store));
}

}  // namespace muster
