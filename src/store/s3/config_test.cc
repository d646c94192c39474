#include "store/s3/config.h"

#include <gtest/gtest.h>

#include <map>

namespace muster::s3 {
namespace config_test {

Environment env(std::map<std::string, std::string> values = {}) {
  return [values = std::move(values)](const char* name) {
    const auto it = values.find(name);
    return it == values.end() ? std::string() : it->second;
  };
}

Result<Config> config(const std::string& address, const Environment& environment = env(),
                      const Profile& profile = {}) {
  const auto url = Url::parse(address);
  if (!url) return url.error();
  return Config::from(*url, environment, profile);
}

TEST(S3ConfigTest, AwsIsTheDefaultAndIsAddressedByVirtualHost) {
  const auto c = config("s3://bucket/a/b/?region=eu-west-1");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_EQ(c->endpoint(), "https://s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(c->request_host(), "bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(c->prefix, "a/b/");
  EXPECT_EQ(c->request_path("a/b/k"), "/a/b/k");
  EXPECT_EQ(c->request_path(""), "/");
  EXPECT_FALSE(config("s3://dotted.bucket")->virtual_hosted);
}

TEST(S3ConfigTest, AnEndpointOfOnesOwnIsAddressedByPath) {
  const auto c = config("s3://bucket?endpoint=http://127.0.0.1:7480/");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_EQ(c->endpoint(), "http://127.0.0.1:7480");
  EXPECT_EQ(c->region, "us-east-1");
  EXPECT_EQ(c->request_path("k"), "/bucket/k");
  EXPECT_EQ(c->request_path(""), "/bucket");
  EXPECT_EQ(config("s3://bucket?endpoint=https://S3.Example.com:443")->host, "s3.example.com");
  EXPECT_EQ(config("s3://bucket?endpoint=http://s3.local&style=virtual")->request_host(),
            "bucket.s3.local");
}

TEST(S3ConfigTest, TheAddressGoesBeforeTheEnvironmentAndThatBeforeTheProfile) {
  Profile profile;
  profile.values = {{"region", "from-profile"}};
  EXPECT_EQ(config("s3://bucket", env(), profile)->region, "from-profile");
  const auto environment =
      env({{"AWS_REGION", "from-env"}, {"AWS_ENDPOINT_URL_S3", "http://from.env"}});
  EXPECT_EQ(config("s3://bucket", environment, profile)->region, "from-env");
  EXPECT_EQ(config("s3://bucket", environment, profile)->host, "from.env");
  const auto c = config("s3://bucket?region=given&endpoint=http://given", environment, profile);
  EXPECT_EQ(c->region, "given");
  EXPECT_EQ(c->host, "given");
}

TEST(S3ConfigTest, BadAddressesAreRefusedWithASentence) {
  for (const char* address :
       {"s3://", "s3:///prefix", "s3://a,b/p", "s3://ab", "s3://user:word@bucket", "s3://bucket//p",
        "s3://bucket?style=other", "s3://bucket?endpoint=s3.example.com",
        "s3://bucket?endpoint=ftp://host", "s3://bucket?endpoint=http://host/path",
        "s3://bucket?endpoint=http://", "s3://bucket?region=a/b", "s3://bucket?if-match=never",
        "s3://bucket?endpoint=http://127.0.0.1:1&style=virtual",
        "s3://bucket?region=", "s3://bucket?ca-file=/does/not/exist"}) {
    const auto c = config(address);
    ASSERT_TRUE(c.is(Errc::kInvalid)) << address;
    EXPECT_EQ(c.error().message.find("word"), std::string::npos);
  }
}

// R39: "s3://bucket/../other" was sent as it is, and names another bucket to anyone who resolves
// it.
TEST(S3ConfigTest, APrefixThatLeadsElsewhereIsRefused) {
  for (const char* address :
       {"s3://bucket/../other", "s3://bucket/a/../../other", "s3://bucket/..",
        "s3://bucket/%2e%2e/other", "s3://bucket/a%2f..%2fb", "s3://bucket/./a"}) {
    const auto c = config(address);
    ASSERT_TRUE(c.is(Errc::kInvalid)) << address;
    EXPECT_NE(c.error().message.find("a part . or .."), std::string::npos) << c.error().message;
  }
  EXPECT_TRUE(config("s3://bucket/a..b/...").ok());
}

TEST(S3ConfigTest, AnUnknownOptionNamesTheNearestKnownOne) {
  EXPECT_EQ(config("s3://bucket?regoin=x").error().message,
            "s3: addresses have no option \"regoin\"; did you mean \"region\"?");
  EXPECT_NE(config("s3://bucket?zzzzzzzzz=x").error().message.find("known are endpoint"),
            std::string::npos);
}

}  // namespace config_test
}  // namespace muster::s3
