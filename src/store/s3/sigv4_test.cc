#include "store/s3/sigv4.h"

#include <gtest/gtest.h>

namespace muster::s3 {
namespace sigv4_test {

// AWS's published examples of signed S3 requests, with its example key.
const Credentials kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
constexpr WallTime kThen = wall_from_ms(1'369'353'600'000);

std::string header(const Request& request, std::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return "";
}

Request example(std::string path) {
  Request request;
  request.host = "examplebucket.s3.amazonaws.com";
  request.path = std::move(path);
  return request;
}

std::string signature(Request request) {
  Signer signer("us-east-1", "s3");
  signer.sign(request, kExample, kThen);
  const std::string text = header(request, "authorization");
  return text.substr(text.find("Signature=") + 10);
}

TEST(SigV4Test, SignsAwsExampleGetObject) {
  Request request = example("/test.txt");
  request.headers = {{"range", "bytes=0-9"}};
  Signer signer("us-east-1", "s3");
  signer.sign(request, kExample, kThen);
  EXPECT_EQ(header(request, "authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4Test, SignsAwsExamplePutObject) {
  Request request = example("/test$file.text");
  request.method = "PUT";
  request.headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                     {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  request.body = "Welcome to Amazon S3.";
  EXPECT_EQ(signature(request), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SigV4Test, SignsAwsExampleGetBucketLifecycle) {
  Request request = example("/");
  request.query = {{"lifecycle", ""}};
  EXPECT_EQ(signature(request), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(SigV4Test, SignsAwsExampleListObjects) {
  Request request = example("/");
  request.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_EQ(signature(request), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4Test, EncodesEachByteOfAKeyOnceAndKeepsItsSlashes) {
  EXPECT_EQ(uri_encode("/b/plugin=a b+c&d/é~%", true), "/b/plugin%3Da%20b%2Bc%26d/%C3%A9~%25");
  EXPECT_EQ(uri_encode("a/b"), "a%2Fb");
}

TEST(SigV4Test, SortsQueryParametersByTheirEncodedForm) {
  Request request;
  request.query = {{"prefix", "a=b&c d"}, {"list-type", "2"}, {"a", ""}, {"A", "é"}};
  EXPECT_EQ(canonical_query(request), "A=%C3%A9&a=&list-type=2&prefix=a%3Db%26c%20d");
}

TEST(SigV4Test, SendsAndSignsTheSessionToken) {
  Request request = example("/x");
  Signer signer("us-east-1", "s3");
  signer.sign(request, {"id", "secret", "token"}, kThen);
  EXPECT_EQ(header(request, "x-amz-security-token"), "token");
  EXPECT_NE(header(request, "authorization").find("x-amz-date;x-amz-security-token,"),
            std::string::npos);
}

TEST(SigV4Test, ANewDayOrSecretMakesANewKey) {
  Signer reused("us-east-1", "s3");
  const auto sign = [](Signer& signer, const Credentials& credentials, WallTime now) {
    Request request = example("/x");
    signer.sign(request, credentials, now);
    return header(request, "authorization");
  };
  for (const auto& [secret, now] : std::vector<std::pair<std::string, WallTime>>{
           {"one", kThen}, {"two", kThen}, {"two", kThen + 24h}, {"one", kThen}}) {
    Signer fresh("us-east-1", "s3");
    const Credentials credentials{"id", secret, ""};
    EXPECT_EQ(sign(reused, credentials, now), sign(fresh, credentials, now));
  }
}

}  // namespace sigv4_test
}  // namespace muster::s3
