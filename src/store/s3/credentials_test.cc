#include "store/s3/credentials.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <vector>

#include "base/log.h"
#include "platform/event_loop.h"
#include "platform/testing/scripted_http_server.h"

namespace muster::s3 {
namespace credentials_test {

using Server = ScriptedHttpServer;

/// A loop whose time stands still until it is moved.
class ManualLoop final : public Loop {
 public:
  [[nodiscard]] MonoTime now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return wall_from_ms(0); }
  void post(Task task) override { timers_.emplace(std::pair(now_, next_++), std::move(task)); }
  TimerId at(MonoTime when, Task task) override {
    timers_.emplace(std::pair(when, next_), std::move(task));
    return next_++;
  }
  void cancel(TimerId id) override {
    std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == id; });
  }
  void advance(Duration d) {
    now_ += d;
    while (!timers_.empty() && timers_.begin()->first.first <= now_) {
      auto node = timers_.extract(timers_.begin());
      node.mapped()();
    }
  }
  [[nodiscard]] std::size_t timer_count() const { return timers_.size(); }

 private:
  MonoTime now_{};
  TimerId next_ = 1;
  std::map<std::pair<MonoTime, TimerId>, Task> timers_;
};

/// A source that answers when told to.
class ProviderTest : public ::testing::Test {
 protected:
  CredentialSource source() {
    return {"a test", [this](MonoTime, Callback<TimedCredentials> done) {
              pending_.push_back(std::move(done));
            }};
  }
  void answer(const std::string& id, std::optional<Duration> life = {}) {
    auto done = std::move(pending_.at(0));
    pending_.erase(pending_.begin());
    std::optional<MonoTime> expires;
    if (life) expires = loop_.now() + *life;
    done(TimedCredentials{{id, "secret", ""}, expires});
  }
  void ask(Duration within = 1s) {
    provider_.get(loop_.now() + within, [this](const Result<Credentials>& result) {
      got_.push_back(result ? result->access_key_id : to_string(result.code()));
    });
  }

  ManualLoop loop_;
  std::vector<Callback<TimedCredentials>> pending_;
  CredentialProvider provider_{loop_, source()};
  std::vector<std::string> got_;
};

TEST_F(ProviderTest, ManyWhoAskShareOneFetch) {
  ask();
  ask();
  EXPECT_EQ(pending_.size(), 1u);
  answer("one");
  EXPECT_EQ(got_, (std::vector<std::string>{"one", "one"}));
  ask();
  EXPECT_EQ(got_.size(), 3u);
  EXPECT_TRUE(pending_.empty());
  EXPECT_EQ(loop_.timer_count(), 0u);
}

TEST_F(ProviderTest, RenewsBeforeTheEndWhileTheOldOnesServe) {
  ask();
  answer("one", 1h);
  loop_.advance(54min);
  ask();
  EXPECT_TRUE(pending_.empty());
  loop_.advance(2min);
  ask();
  EXPECT_EQ(got_.back(), "one");
  ASSERT_EQ(pending_.size(), 1u);
  answer("two", 1h);
  ask();
  EXPECT_EQ(got_.back(), "two");
}

TEST_F(ProviderTest, AShortLifeIsRenewedHalfway) {
  ask();
  answer("one", 4min);
  loop_.advance(1min);
  ask();
  EXPECT_TRUE(pending_.empty());
  loop_.advance(90s);
  ask();
  EXPECT_EQ(pending_.size(), 1u);
}

TEST_F(ProviderTest, ExpiredOnesAreNeverGiven) {
  ask();
  answer("one", 1h);
  loop_.advance(1h);
  ask();
  EXPECT_EQ(got_.size(), 1u);
  answer("two", 1h);
  EXPECT_EQ(got_.back(), "two");
}

TEST_F(ProviderTest, AFailedRenewalIsTriedAgainAfterAWhile) {
  set_log_sink({});
  ask();
  answer("one", 1h);
  loop_.advance(56min);
  ask();
  auto done = std::move(pending_.at(0));
  pending_.clear();
  done({Errc::kUnavailable, "down"});
  ask();
  EXPECT_TRUE(pending_.empty());
  loop_.advance(10s);
  ask();
  EXPECT_EQ(pending_.size(), 1u);
  EXPECT_EQ(got_.back(), "one");
}

TEST_F(ProviderTest, WaitingEndsAtTheDeadline) {
  ask(1s);
  loop_.advance(1s);
  EXPECT_EQ(got_, (std::vector<std::string>{"unavailable"}));
  answer("late");
  ask();
  EXPECT_EQ(got_.back(), "late");
}

TEST_F(ProviderTest, RejectedOnesAreFetchedAnewOnce) {
  ask();
  answer("one");
  provider_.reject({"one", "secret", ""});
  ask();
  answer("two");
  provider_.reject({"one", "secret", ""});
  ask();
  EXPECT_EQ(got_, (std::vector<std::string>{"one", "two", "two"}));
}

/// Each source against a server of our own, with files in a directory of our own.
class SourceTest : public ::testing::Test {
 protected:
  SourceTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "muster-s3-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    env_["HOME"] = dir_;
    endpoints_.instance = endpoints_.container = endpoints_.sts = server_.url();
    thread_.run([this] { http_ = std::make_unique<HttpClient>(thread_.loop()); });
  }
  ~SourceTest() override {
    thread_.run([this] { http_.reset(); });
    std::filesystem::remove_all(dir_);
  }

  std::string write(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(dir_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }

  Result<TimedCredentials> fetch() {
    const Environment environment = [env = env_](const char* name) {
      const auto it = env.find(name);
      return it == env.end() ? std::string() : it->second;
    };
    const auto profile = load_profile(environment);
    if (!profile) return profile.error();
    std::promise<Result<TimedCredentials>> promise;
    thread_.loop().post([&] {
      source_ = choose_credential_source(environment, *profile, "region", endpoints_,
                                         thread_.loop(), *http_);
      if (!*source_) return promise.set_value(source_->error());
      (*source_)->fetch(thread_.loop().now() + 10s,
                        [&](auto result) { promise.set_value(std::move(result)); });
    });
    return promise.get_future().get();
  }

  std::string dir_;
  std::map<std::string, std::string> env_;
  std::map<std::string, Server::Reply> replies_;  ///< By method and target.
  Server server_{[this](const Server::Request& r) {
    const auto it = replies_.find(r.method + " " + r.target);
    return it == replies_.end() ? Server::Reply{.status = 404} : it->second;
  }};
  CredentialEndpoints endpoints_;
  LoopThread thread_;
  std::unique_ptr<HttpClient> http_;
  std::optional<Result<CredentialSource>> source_;
};

const char* const kJson =
    R"({"AccessKeyId":"id","SecretAccessKey":"the-secret","Token":"the-token",)"
    R"("Expiration":"2013-05-24T01:00:00Z"})";
const std::pair<std::string, std::string> kDate{"Date", "Fri, 24 May 2013 00:00:00 GMT"};

void expect_one_hour(const Result<TimedCredentials>& result, MonoTime now) {
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->credentials.access_key_id, "id");
  EXPECT_EQ(result->credentials.secret_access_key, "the-secret");
  EXPECT_EQ(result->credentials.session_token, "the-token");
  // By the service's clock, although ours is years ahead of it.
  ASSERT_TRUE(result->expires.has_value());
  EXPECT_LT(*result->expires, now + 61min);
  EXPECT_GT(*result->expires, now + 59min);
}

TEST_F(SourceTest, TheEnvironmentComesFirst) {
  env_["AWS_ACCESS_KEY_ID"] = "env-id";
  env_["AWS_SECRET_ACCESS_KEY"] = "env-secret";
  env_["AWS_SESSION_TOKEN"] = "env-token";
  write(".aws/credentials", "[default]\naws_access_key_id=file\naws_secret_access_key=file\n");
  const auto result = fetch();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->credentials.access_key_id, "env-id");
  EXPECT_EQ(result->credentials.session_token, "env-token");
  EXPECT_FALSE(result->expires.has_value());
}

TEST_F(SourceTest, HalfAnEnvironmentIsRefused) {
  env_["AWS_ACCESS_KEY_ID"] = "env-id";
  EXPECT_TRUE(fetch().is(Errc::kInvalid));
}

TEST_F(SourceTest, ProfilesAreReadFromBothSharedFiles) {
  write(".aws/credentials",
        "# comment\n[default]\naws_access_key_id = d\naws_secret_access_key = d\n"
        "[other]\r\naws_access_key_id=o ; note\r\naws_secret_access_key = a=b#c \r\n");
  env_["AWS_CONFIG_FILE"] = write("config",
                                  "[profile other]\nregion = eu-west-1\n"
                                  "s3 =\n  aws_access_key_id = nested\n"
                                  "[profile third]\naws_access_key_id=t\n"
                                  "aws_secret_access_key=t\naws_session_token=tok\n");
  EXPECT_EQ(fetch()->credentials.access_key_id, "d");
  env_["AWS_PROFILE"] = "other";
  EXPECT_EQ(fetch()->credentials.access_key_id, "o");
  EXPECT_EQ(fetch()->credentials.secret_access_key, "a=b#c");
  env_["AWS_PROFILE"] = "third";
  EXPECT_EQ(fetch()->credentials.session_token, "tok");
  env_["AWS_PROFILE"] = "absent";
  EXPECT_TRUE(fetch().is(Errc::kInvalid));
}

TEST_F(SourceTest, WhatAProfileCannotDoHereIsSaid) {
  write(".aws/config", "[default]\ncredential_process = /bin/true\n");
  const auto result = fetch();
  ASSERT_TRUE(result.is(Errc::kUnsupported));
  EXPECT_NE(result.error().message.find("credential_process"), std::string::npos);
}

TEST_F(SourceTest, WebIdentityExchangesItsTokenAtSts) {
  env_["AWS_WEB_IDENTITY_TOKEN_FILE"] = write("token", "a+token/=\n");
  env_["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  replies_["POST /"] = {200,
                        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"
                        "<Credentials><AccessKeyId>id</AccessKeyId><SecretAccessKey>the-secret"
                        "</SecretAccessKey><SessionToken>the-token</SessionToken>"
                        "<Expiration>2013-05-24T01:00:00Z</Expiration></Credentials>"
                        "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>",
                        {kDate}};
  expect_one_hour(fetch(), thread_.loop().now());
  const auto request = server_.requests().at(0);
  EXPECT_EQ(request.body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1"
            "%3Arole%2Fr&RoleSessionName=muster&WebIdentityToken=a%2Btoken%2F%3D");
  replies_["POST /"].status = 403;
  const auto refused = fetch();
  ASSERT_TRUE(refused.is(Errc::kDenied));
  EXPECT_EQ(refused.error().message.find("token"), std::string::npos);
}

TEST_F(SourceTest, TheContainerEndpointIsRelativeOrFull) {
  replies_["GET /creds/1"] = {200, kJson, {kDate}};
  env_["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/creds/1";
  env_["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "plain";
  expect_one_hour(fetch(), thread_.loop().now());
  EXPECT_EQ(server_.requests().at(0).header("authorization"), "plain");

  env_.erase("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  env_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server_.url() + "/creds/1";
  env_["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = write("auth", "from-file\n");
  expect_one_hour(fetch(), thread_.loop().now());
  EXPECT_EQ(server_.requests().at(1).header("authorization"), "from-file");

  env_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://example.com/creds";
  EXPECT_TRUE(fetch().is(Errc::kInvalid));
}

// R39: each of these names another host than a hasty look finds.
TEST_F(SourceTest, CredentialsAreNotFetchedFromAHostThatOnlyLooksLikeThisOne) {
  for (const char* url :
       {"http://localhost:x@evil.example/", "http://localhost@evil.example/creds",
        "http://127.evil.example/", "http://127.0.0.1.evil.example/", "http://127.1/",
        "http://[::1]@evil.example/", "http://localhost\\@evil.example/",
        "http://localhost.evil.example/", "https://user:word@evil.example/", "https:///creds",
        "http:///creds", "ftp://localhost/"}) {
    env_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    const auto fetched = fetch();
    ASSERT_TRUE(fetched.is(Errc::kInvalid)) << url;
    EXPECT_EQ(fetched.error().message.find("word"), std::string::npos);
  }
}

TEST_F(SourceTest, InstanceMetadataIsAskedInItsSecondVersion) {
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  replies_["PUT /latest/api/token"] = {200, "session", {}};
  replies_["GET " + roles] = {200, "my-role\n", {}};
  replies_["GET " + roles + "my-role"] = {200, kJson, {kDate}};
  expect_one_hour(fetch(), thread_.loop().now());
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].header("x-aws-ec2-metadata-token-ttl-seconds"), "21600");
  EXPECT_EQ(requests[2].header("x-aws-ec2-metadata-token"), "session");

  replies_["GET " + roles + "my-role"].body = "{\"Code\":\"Failed\"}";
  EXPECT_TRUE(fetch().is(Errc::kUnavailable));
  replies_.erase("GET " + roles);
  EXPECT_TRUE(fetch().is(Errc::kDenied));
  replies_["PUT /latest/api/token"].status = 403;
  EXPECT_NE(fetch().error().message.find("AWS_ACCESS_KEY_ID"), std::string::npos);
  env_["AWS_EC2_METADATA_DISABLED"] = "true";
  const auto disabled = fetch();
  ASSERT_TRUE(disabled.is(Errc::kDenied));
  EXPECT_NE(disabled.error().message.find("AWS_ACCESS_KEY_ID"), std::string::npos);
}

}  // namespace credentials_test
}  // namespace muster::s3
