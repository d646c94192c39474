#include "store/url.h"

#include <gtest/gtest.h>

namespace muster {
namespace url_test {

TEST(UrlTest, EachSchemeIsTakenApart) {
  EXPECT_EQ(Url::parse("memory:")->scheme, "memory");
  EXPECT_EQ(Url::parse("file:///var/lib/app")->path, "/var/lib/app");
  const Url s3 = *Url::parse("s3://bucket/a/b?endpoint=http://127.0.0.1:7480&region=us-east-1");
  EXPECT_EQ(s3.hosts, std::vector<std::string>{"bucket"});
  EXPECT_EQ(s3.path, "a/b");
  EXPECT_EQ(s3.query.at("endpoint"), "http://127.0.0.1:7480");
  const Url etcd = *Url::parse("etcd://root:p%40ss@h1:2379,h2:2379/app");
  EXPECT_EQ(etcd.hosts, (std::vector<std::string>{"h1:2379", "h2:2379"}));
  EXPECT_EQ(etcd.user, "root");
  EXPECT_EQ(etcd.password, "p@ss");
}

TEST(UrlTest, APasswordIsNeverPrinted) {
  const Url url = *Url::parse("etcd://root:hunter2@h1:2379/app");
  EXPECT_EQ(url.redacted(), "etcd://h1:2379/app");
}

TEST(UrlTest, BadAddressesAreRefusedWithASentence) {
  for (const char* text : {"", ":", "bucket", "s3:bucket", "s3://b?x=1&x=2", "s3://b?=1",
                           "etcd://a,,b", "s3://b/%zz", "file://a\nb", "etcd://a b"}) {
    const auto url = Url::parse(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.code(), Errc::kInvalid) << text;
    EXPECT_FALSE(url.error().message.empty());
  }
}

}  // namespace url_test
}  // namespace muster
