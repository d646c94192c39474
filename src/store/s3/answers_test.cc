#include "store/s3/answers.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::s3 {
namespace answers_test {

using Kind = Question::Kind;
using When = Precondition::Kind;
using Remedy = Refusal::Remedy;

HttpResponse answer(int status, const std::string& code = "") {
  HttpResponse response;
  response.status = status;
  if (!code.empty()) {
    response.body =
        "<?xml version='1.0'?><Error><Code>" + code + "</Code><Message>no</Message></Error>";
  }
  return response;
}

Question question(Kind kind, When when = When::kNone) {
  return {kind, when, "bucket", "some/key", "http://host"};
}

struct Case {
  Kind kind;
  When when;
  int status;
  const char* code;
  Errc expected;
  Remedy remedy = Remedy::kNone;
};

// P03: 409, 412, 429 and 5xx are four outcomes.
TEST(AnswersTest, EachRefusalHasItsOutcome) {
  const std::vector<Case> cases = {
      {Kind::kGet, When::kNone, 304, "", Errc::kUnchanged},
      {Kind::kGet, When::kNone, 404, "NoSuchKey", Errc::kNotFound},
      {Kind::kGet, When::kNone, 404, "NoSuchBucket", Errc::kInvalid},
      {Kind::kGet, When::kNone, 404, "", Errc::kInvalid},
      {Kind::kGet, When::kNone, 429, "", Errc::kThrottled, Remedy::kRetry},
      {Kind::kGet, When::kNone, 503, "SlowDown", Errc::kThrottled, Remedy::kRetry},
      {Kind::kGet, When::kNone, 500, "InternalError", Errc::kUnavailable, Remedy::kRetry},
      {Kind::kGet, When::kNone, 400, "RequestTimeout", Errc::kUnavailable, Remedy::kRetry},
      {Kind::kGet, When::kNone, 403, "AccessDenied", Errc::kDenied},
      {Kind::kGet, When::kNone, 401, "", Errc::kDenied},
      {Kind::kGet, When::kNone, 301, "PermanentRedirect", Errc::kInvalid},
      {Kind::kList, When::kNone, 404, "NoSuchBucket", Errc::kInvalid},
      {Kind::kList, When::kNone, 404, "", Errc::kInvalid},
      {Kind::kPut, When::kAbsent, 412, "PreconditionFailed", Errc::kConflict},
      {Kind::kPut, When::kAtRevision, 412, "", Errc::kConflict},
      {Kind::kPut, When::kAtRevision, 404, "NoSuchKey", Errc::kConflict},
      {Kind::kPut, When::kAtRevision, 404, "NoSuchBucket", Errc::kInvalid},
      {Kind::kPut, When::kAtRevision, 404, "", Errc::kInvalid},
      {Kind::kPut, When::kAtRevision, 409, "ConditionalRequestConflict", Errc::kAmbiguous},
      {Kind::kPut, When::kAtRevision, 500, "InternalError", Errc::kAmbiguous},
      {Kind::kPut, When::kAtRevision, 503, "ServiceUnavailable", Errc::kAmbiguous},
      {Kind::kPut, When::kAtRevision, 503, "", Errc::kAmbiguous},
      {Kind::kPut, When::kAtRevision, 503, "SlowDown", Errc::kThrottled},
      {Kind::kPut, When::kAtRevision, 429, "", Errc::kThrottled},
      {Kind::kPut, When::kAtRevision, 400, "RequestTimeout", Errc::kAmbiguous},
      {Kind::kPut, When::kAtRevision, 501, "NotImplemented", Errc::kUnsupported},
      {Kind::kPut, When::kAtRevision, 400, "InvalidArgument", Errc::kInvalid},
      {Kind::kPut, When::kNone, 403, "SignatureDoesNotMatch", Errc::kDenied},
      {Kind::kPut, When::kNone, 403, "RequestTimeTooSkewed", Errc::kDenied, Remedy::kSetClock},
      {Kind::kPut, When::kNone, 400, "ExpiredToken", Errc::kDenied, Remedy::kRenewCredentials},
      {Kind::kPut, When::kNone, 403, "ExpiredToken", Errc::kDenied, Remedy::kRenewCredentials},
      {Kind::kRemove, When::kNone, 404, "NoSuchKey", Errc::kNotFound},
      {Kind::kRemove, When::kNone, 500, "", Errc::kAmbiguous},
  };
  for (const Case& c : cases) {
    const Refusal refusal = judge(answer(c.status, c.code), question(c.kind, c.when));
    EXPECT_EQ(refusal.error.code, c.expected) << c.status << " " << c.code;
    EXPECT_EQ(refusal.remedy, c.remedy) << c.status << " " << c.code;
    EXPECT_FALSE(refusal.error.message.empty());
  }
}

TEST(AnswersTest, WritesAreNeverToldToRetry) {
  for (int status = 300; status < 600; ++status) {
    for (const char* code : {"", "SlowDown", "InternalError"}) {
      const Refusal refusal = judge(answer(status, code), question(Kind::kPut, When::kAtRevision));
      EXPECT_NE(refusal.remedy, Remedy::kRetry) << status << " " << code;
    }
  }
}

TEST(AnswersTest, ALostReplyIsAmbiguousForWritesAndUnavailableForReads) {
  const Error lost{Errc::kAmbiguous, "cut"}, unsent{Errc::kUnavailable, "refused"};
  EXPECT_EQ(judge(lost, question(Kind::kPut)).error.code, Errc::kAmbiguous);
  EXPECT_EQ(judge(unsent, question(Kind::kPut)).error.code, Errc::kUnavailable);
  EXPECT_EQ(judge(Error{Errc::kCorrupt, "large"}, question(Kind::kPut)).error.code,
            Errc::kAmbiguous);
  EXPECT_EQ(judge(lost, question(Kind::kGet)).error.code, Errc::kUnavailable);
  EXPECT_EQ(judge(lost, question(Kind::kGet)).remedy, Remedy::kRetry);
}

TEST(AnswersTest, RetryAfterIsSecondsOrADate) {
  HttpResponse response = answer(429);
  response.headers = {{"retry-after", "7"}};
  EXPECT_EQ(judge(response, question(Kind::kPut)).error.retry_after, 7s);
  response.headers = {{"retry-after", "Fri, 24 May 2013 00:00:09 GMT"},
                      {"date", "Fri, 24 May 2013 00:00:00 GMT"}};
  EXPECT_EQ(judge(response, question(Kind::kPut)).error.retry_after, 9s);
  response.headers = {{"retry-after", "soon"}};
  EXPECT_EQ(judge(response, question(Kind::kPut)).error.retry_after, 0s);
}

TEST(AnswersTest, AnAbsentBucketIsNamedInOneSentence) {
  const Error error = judge(answer(404, "NoSuchBucket"), question(Kind::kGet)).error;
  EXPECT_EQ(
      error.message,
      "bucket bucket does not exist at http://host; create it, or correct the store's address");
}

TEST(AnswersTest, AWrongRegionNamesTheRightOne) {
  HttpResponse response = answer(301, "PermanentRedirect");
  response.headers = {{"x-amz-bucket-region", "eu-west-1"}};
  EXPECT_NE(judge(response, question(Kind::kGet)).error.message.find("set region=eu-west-1"),
            std::string::npos);
}

TEST(AnswersTest, OnlyThePlainCodeOfABodyReachesAMessage) {
  EXPECT_EQ(parse_error_code("<Error><Code>AccessDenied</Code></Error>"), "AccessDenied");
  EXPECT_EQ(parse_error_code("<Error><Code>a b\n</Code></Error>"), "");
  EXPECT_EQ(parse_error_code("<html>502 Bad Gateway"), "");
  EXPECT_EQ(parse_error_code(""), "");
}

// R07: the two times are those of two gateways, perhaps, and twenty minutes apart.
TEST(AnswersTest, AnObjectHasItsETagWithoutQuotesAndNoAge) {
  HttpResponse response = answer(200);
  response.body = "body";
  response.headers = {{"etag", "\"abc\""},
                      {"last-modified", "Fri, 24 May 2013 00:00:00 GMT"},
                      {"date", "Fri, 24 May 2013 00:00:05 GMT"}};
  const auto object = parse_object(response);
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->revision, Revision("abc"));
  EXPECT_FALSE(object->age.has_value());
  response.headers = {{"etag", "abc"}};
  EXPECT_EQ(parse_object(response)->revision, Revision("abc"));
  response.headers = {};
  EXPECT_TRUE(parse_object(response).is(Errc::kCorrupt));
}

// S14: a list has more than one page.
TEST(AnswersTest, AListIsReadWithEitherQuotingEncodedKeysAndItsContinuation) {
  const auto page = parse_list(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>1/a+b==</NextContinuationToken>"
      "<EncodingType>url</EncodingType>"
      "<Contents><Key>p/worker%3Da+b%2Bc%26%C3%A9</Key><ETag>&quot;r1&quot;</ETag>"
      "<LastModified>2013-05-24T00:00:00.000Z</LastModified></Contents>"
      "<Contents><Key>p/z</Key><ETag>\"r2\"</ETag></Contents></ListBucketResult>",
      "p/");
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "worker=a b+c&é");
  EXPECT_EQ(page->objects[0].revision, Revision("r1"));
  EXPECT_FALSE(page->objects[0].age.has_value());
  EXPECT_EQ(page->objects[1].revision, Revision("r2"));
  EXPECT_EQ(page->next, "1/a+b==");
}

TEST(AnswersTest, AListThatCannotBeTrustedIsCorrupt) {
  for (const char* body :
       {"", "<Other/>", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>p/a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>q/a</Key><ETag>r</ETag></Contents></ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>p/%z</Key>"
        "<ETag>r</ETag></Contents></ListBucketResult>"}) {
    EXPECT_TRUE(parse_list(body, "p/").is(Errc::kCorrupt)) << body;
  }
}

}  // namespace answers_test
}  // namespace muster::s3
