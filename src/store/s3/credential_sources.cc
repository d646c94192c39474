#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "core/membership/validation.h"
#include "store/s3/credentials.h"
#include "store/s3/timestamps.h"
#include "store/s3/xml.h"

namespace muster::s3 {
namespace {

using Answer = Result<HttpResponse>;
using FetchDone = Callback<TimedCredentials>;

/// What a source needs to ask an HTTP service. Copied into each of its steps.
struct Http {
  Loop& loop;
  HttpClient& client;

  void ask(HttpRequest request, HttpClient::Answered done) const {
    request.answer_bytes_max = std::size_t{1} << 20;
    client.send(std::move(request), std::move(done));
  }
  /// Expiry in the service's time, counted from the service's own Date, so that a wrong clock here
  /// does not matter.
  [[nodiscard]] std::optional<MonoTime> expiry(const HttpResponse& response,
                                               std::string_view expiration) const {
    const auto until = parse_iso_time(expiration);
    if (!until) return {};
    return loop.now() +
           (*until - parse_http_date(response.header("date")).value_or(loop.wall_now()));
  }
};

Error not_usable(const std::string& who) {
  return {Errc::kUnavailable, who + " sent an answer without credentials"};
}

/// Anything but a 200, as an error that says nothing of the body.
std::optional<Error> failed(const std::string& who, const Answer& answer) {
  if (!answer) return Error{Errc::kUnavailable, who + ": " + answer.error().message};
  const int status = answer->status;
  if (status == 200) return {};
  const bool refused = status >= 400 && status < 500 && status != 429;
  return Error{refused ? Errc::kDenied : Errc::kUnavailable,
               who + " refused with HTTP " + std::to_string(status)};
}

/// The JSON that the container's endpoint and the instance's metadata both give.
Result<TimedCredentials> from_json(const Http& http, const std::string& who,
                                   const HttpResponse& response) {
  const auto json = nlohmann::json::parse(response.body, nullptr, false);
  const auto text = [&](const char* name) -> std::string {
    if (!json.is_object() || !json.contains(name) || !json[name].is_string()) return "";
    return json[name].get<std::string>();
  };
  TimedCredentials out{{text("AccessKeyId"), text("SecretAccessKey"), text("Token")},
                       http.expiry(response, text("Expiration"))};
  if (out.credentials.access_key_id.empty() || out.credentials.secret_access_key.empty()) {
    return not_usable(who);
  }
  return out;
}

CredentialSource fixed(std::string name, Credentials credentials) {
  return {std::move(name), [credentials = std::move(credentials)](MonoTime, const FetchDone& done) {
            done(TimedCredentials{credentials, {}});
          }};
}

/// Read again on each fetch, so that keys replaced in the file are found.
CredentialSource profile_keys(const Environment& environment, const std::string& name) {
  return {"profile " + name, [environment](MonoTime, const FetchDone& done) {
            const auto profile = load_profile(environment);
            if (!profile) return done(profile.error());
            Credentials c{profile->get("aws_access_key_id"), profile->get("aws_secret_access_key"),
                          profile->get("aws_session_token")};
            if (c.access_key_id.empty() || c.secret_access_key.empty()) {
              return done({Errc::kDenied, "profile " + profile->name + " no longer holds keys"});
            }
            done(TimedCredentials{std::move(c), {}});
          }};
}

struct WebIdentity {
  std::string token_file;
  std::string role;
  std::string session;
  std::string endpoint;
};

Result<TimedCredentials> from_sts(const Http& http, const std::string& who,
                                  const HttpResponse& response) {
  const auto root = parse_xml(response.body);
  const XmlElement* result = root ? root->child("AssumeRoleWithWebIdentityResult") : nullptr;
  const XmlElement* c = result == nullptr ? nullptr : result->child("Credentials");
  if (c == nullptr) return not_usable(who);
  TimedCredentials out{{std::string(trim(c->child_text("AccessKeyId"))),
                        std::string(trim(c->child_text("SecretAccessKey"))),
                        std::string(trim(c->child_text("SessionToken")))},
                       http.expiry(response, c->child_text("Expiration"))};
  if (out.credentials.access_key_id.empty() || out.credentials.secret_access_key.empty()) {
    return not_usable(who);
  }
  return out;
}

CredentialSource web_identity(Http http, WebIdentity identity) {
  const std::string who = "STS at " + identity.endpoint;
  return {who, [http, identity = std::move(identity), who](MonoTime by, FetchDone done) {
            const auto token = read_small_file(identity.token_file);
            if (!token) return done(token.error());
            HttpRequest request;
            request.method = "POST";
            request.url = identity.endpoint + "/";
            request.headers = {{"content-type", "application/x-www-form-urlencoded"}};
            request.body = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" +
                           uri_encode(identity.role) +
                           "&RoleSessionName=" + uri_encode(identity.session) +
                           "&WebIdentityToken=" + uri_encode(trim(*token));
            request.by = by;
            http.ask(std::move(request), [http, who, done = std::move(done)](const Answer& answer) {
              if (const auto error = failed(who, answer)) return done(*error);
              done(from_sts(http, who, *answer));
            });
          }};
}

struct Container {
  std::string url;
  std::string token;
  std::string token_file;
};

CredentialSource container(Http http, Container c) {
  const std::string who = "the container's credential endpoint";
  return {who, [http, c = std::move(c), who](MonoTime by, FetchDone done) {
            std::string token = c.token;
            if (!c.token_file.empty()) {
              const auto text = read_small_file(c.token_file);
              if (!text) return done(text.error());
              token = trim(*text);
            }
            HttpRequest request;
            request.url = c.url;
            if (!token.empty()) request.headers = {{"authorization", token}};
            request.by = by;
            request.direct = true;
            http.ask(std::move(request), [http, who, done = std::move(done)](const Answer& answer) {
              if (const auto error = failed(who, answer)) return done(*error);
              done(from_json(http, who, *answer));
            });
          }};
}

/// Three steps: a session token, the role's name, the role's credentials.
struct InstanceMetadata : std::enable_shared_from_this<InstanceMetadata> {
  InstanceMetadata(Http h, std::string e, MonoTime deadline, FetchDone d)
      : http(h), endpoint(std::move(e)), by(deadline), done(std::move(d)) {}

  void begin() {
    HttpRequest request = to("/latest/api/token");
    request.method = "PUT";
    request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}};
    http.ask(std::move(request), [self = shared_from_this()](const Answer& answer) {
      // Not there, or there and switched off: either way nothing is left to try.
      if (!answer || answer->status == 403 || answer->status == 404) {
        return self->done({Errc::kDenied, kNoneFound});
      }
      if (const auto error = failed(kWho, answer)) return self->done(*error);
      self->token = answer->body;
      self->ask_role();
    });
  }
  void ask_role() {
    http.ask(to(kRoles), [self = shared_from_this()](const Answer& answer) {
      if (answer && answer->status == 404) return self->done({Errc::kDenied, kNoneFound});
      if (const auto error = failed(kWho, answer)) return self->done(*error);
      self->ask_credentials(std::string(trim(answer->body.substr(0, answer->body.find('\n')))));
    });
  }
  void ask_credentials(const std::string& role) {
    http.ask(to(kRoles + uri_encode(role)), [self = shared_from_this()](const Answer& answer) {
      if (const auto error = failed(kWho, answer)) return self->done(*error);
      self->done(from_json(self->http, kWho, *answer));
    });
  }
  [[nodiscard]] HttpRequest to(const std::string& path) const {
    HttpRequest request;
    request.url = endpoint + path;
    // Where there is no such service the packets go nowhere: do not wait the whole deadline out.
    request.by = std::min(by, http.loop.now() + 2s);
    request.direct = true;
    if (!token.empty()) request.headers = {{"x-aws-ec2-metadata-token", token}};
    return request;
  }

  static constexpr const char* kWho = "the instance's metadata service";
  static constexpr const char* kNoneFound =
      "found no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or add a profile to "
      "~/.aws/credentials; there is no web identity, container endpoint or instance role either";
  static inline const std::string kRoles = "/latest/meta-data/iam/security-credentials/";
  Http http;
  std::string endpoint;
  MonoTime by;
  FetchDone done;
  std::string token;
};

std::string without_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

/// The host that an http: or https: address names, brackets of IPv6 included; empty where anything
/// but a host and a port stands between the slashes, so that what is checked here is what is asked.
std::string_view host_of(std::string_view url, std::string_view scheme) {
  if (!url.starts_with(scheme)) return {};
  url.remove_prefix(scheme.size());
  const std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  const bool plain = std::all_of(authority.begin(), authority.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("-.:[]").find(c) != std::string_view::npos;
  });
  if (!plain) return {};
  return authority.starts_with('[') ? authority.substr(0, authority.find(']') + 1)
                                    : authority.substr(0, authority.find(':'));
}

/// Plain HTTP would show the credentials to the network, unless it stays on this host.
bool allowed_container_url(std::string_view url) {
  if (!host_of(url, "https://").empty()) return true;
  const std::string_view host = host_of(url, "http://");
  const bool loopback = host.starts_with("127.") && membership::is_ipv4(host);
  return host == "localhost" || loopback || host == "[::1]" || host == "169.254.170.2" ||
         host == "169.254.170.23" || host == "[fd00:ec2::23]";
}

Result<CredentialSource> choose_container(const Environment& env, const std::string& relative,
                                          const std::string& full, const CredentialEndpoints& at,
                                          Http http) {
  Container c{full, env("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
              env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")};
  if (!relative.empty()) c.url = at.container + relative;
  if (relative.empty() && !allowed_container_url(full)) {
    return {
        Errc::kInvalid,
        "AWS_CONTAINER_CREDENTIALS_FULL_URI is not used: it must be https://HOST/…, or http:// to "
        "this host (localhost, 127.x.x.x or [::1]), without a user name"};
  }
  return container(http, std::move(c));
}

}  // namespace

Result<CredentialSource> choose_credential_source(const Environment& env, const Profile& profile,
                                                  const std::string& region, CredentialEndpoints at,
                                                  Loop& loop, HttpClient& client) {
  const Http http{loop, client};
  const std::string id = env("AWS_ACCESS_KEY_ID"), secret = env("AWS_SECRET_ACCESS_KEY");
  if (id.empty() != secret.empty()) {
    return {Errc::kInvalid, "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set"};
  }
  if (!id.empty()) return fixed("the environment", {id, secret, env("AWS_SESSION_TOKEN")});

  if (!profile.get("aws_access_key_id").empty() && !profile.get("aws_secret_access_key").empty()) {
    return profile_keys(env, profile.name);
  }
  const auto either = [&](const char* variable, const char* key) {
    const std::string value = env(variable);
    return value.empty() ? profile.get(key) : value;
  };
  WebIdentity identity{either("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file"),
                       either("AWS_ROLE_ARN", "role_arn"),
                       either("AWS_ROLE_SESSION_NAME", "role_session_name"),
                       env("AWS_ENDPOINT_URL_STS")};
  if (!identity.token_file.empty() && !identity.role.empty()) {
    if (identity.session.empty()) identity.session = "muster";
    if (identity.endpoint.empty()) identity.endpoint = at.sts;
    if (identity.endpoint.empty()) identity.endpoint = "https://sts." + region + ".amazonaws.com";
    identity.endpoint = without_slash(identity.endpoint);
    return web_identity(http, std::move(identity));
  }
  for (const char* key : {"source_profile", "credential_source", "credential_process",
                          "sso_session", "sso_start_url"}) {
    if (profile.get(key).empty()) continue;
    return {Errc::kUnsupported, "profile " + profile.name + " uses " + key +
                                    ", which is not supported; export its keys as "
                                    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                                    "AWS_SESSION_TOKEN"};
  }

  const std::string relative = env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative.empty() || !full.empty()) return choose_container(env, relative, full, at, http);

  if (to_lower(env("AWS_EC2_METADATA_DISABLED")) == "true") {
    return {Errc::kDenied, InstanceMetadata::kNoneFound};
  }
  const std::string endpoint = env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  return CredentialSource{
      InstanceMetadata::kWho,
      [http, where = without_slash(endpoint.empty() ? at.instance : endpoint)](MonoTime by,
                                                                               FetchDone done) {
        std::make_shared<InstanceMetadata>(http, where, by, std::move(done))->begin();
      }};
}

}  // namespace muster::s3
