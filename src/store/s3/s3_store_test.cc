#include "store/s3/s3_store.h"

#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <map>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "platform/event_loop.h"
#include "platform/testing/scripted_http_server.h"

namespace muster {
namespace s3_store_test {

using Server = ScriptedHttpServer;
using Fault = ScriptedHttpServer::Fault;
using Reply = ScriptedHttpServer::Reply;

const std::string kSecret = "wJalrXUtnFEMIsecret";
const std::string kToken = "session-token-secret";

Reply error(int status, const std::string& code) {
  return {status, "<Error><Code>" + code + "</Code></Error>"};
}
Reply object(const std::string& body, const std::string& etag) {
  return {200, body, {{"ETag", '"' + etag + '"'}}};
}

/// A store whose server gives the replies of a script, one after another; the last one stays.
class S3StoreTest : public ::testing::Test {
 protected:
  S3StoreTest() { open(""); }
  ~S3StoreTest() override {
    thread_.run([this] { store_.reset(); });
  }

  void open(const std::string& options) {
    thread_.run([&] {
      const auto url = Url::parse("s3://bucket/pre?endpoint=" + server_.url() + options);
      auto store = S3Store::open(*url, thread_.loop(), [](const char* name) -> std::string {
        const std::map<std::string, std::string> values = {{"AWS_ACCESS_KEY_ID", "id"},
                                                           {"AWS_SECRET_ACCESS_KEY", kSecret},
                                                           {"AWS_SESSION_TOKEN", kToken}};
        const auto it = values.find(name);
        return it == values.end() ? "" : it->second;
      });
      ASSERT_TRUE(store.ok()) << store.error().message;
      store_ = std::move(*store);
    });
  }
  template <typename T>
  Result<T> call(std::function<void(Deadline, Callback<T>)> begin, Duration within = 10s) {
    std::promise<Result<T>> promise;
    thread_.loop().post([&] {
      begin(thread_.loop().now() + within, [&](Result<T> r) { promise.set_value(std::move(r)); });
    });
    return promise.get_future().get();
  }
  Result<Object> get(std::optional<Revision> unless = {}, Duration within = 10s) {
    return call<Object>(
        [&](Deadline by, auto done) { store_->get("k", unless, by, std::move(done)); }, within);
  }
  Result<Revision> put(Precondition when, Duration within = 10s) {
    return call<Revision>(
        [&](Deadline by, auto done) { store_->put("k", "body", when, by, std::move(done)); },
        within);
  }
  Status remove(std::optional<Revision> when = {}) {
    return call<Done>(
        [&](Deadline by, auto done) { store_->remove("k", when, by, std::move(done)); });
  }
  Result<ListPage> list(const std::string& prefix, const std::string& from = "") {
    return call<ListPage>(
        [&](Deadline by, auto done) { store_->list(prefix, from, by, std::move(done)); });
  }
  S3Stats stats() {
    S3Stats out;
    thread_.run([&] { out = store_->stats(); });
    return out;
  }

  std::deque<Reply> script_{Reply{}};
  Server server_{[this](const Server::Request&) {
    Reply reply = script_.front();
    if (script_.size() > 1) script_.pop_front();
    return reply;
  }};
  LoopThread thread_;
  std::unique_ptr<S3Store> store_;
};

TEST_F(S3StoreTest, GetsAnObjectUnderItsPrefixWithASignature) {
  script_ = {object("hello", "abc")};
  const auto got = get();
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->body, "hello");
  EXPECT_EQ(got->revision, Revision("abc"));
  const auto request = server_.requests().at(0);
  EXPECT_EQ(request.target, "/bucket/pre/k");
  EXPECT_TRUE(request.header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=id/"));
  EXPECT_EQ(request.header("x-amz-security-token"), kToken);
}

// S19: what is not there is an answer. Trying again would cost a first leader many seconds.
TEST_F(S3StoreTest, WhatIsNotThereIsAskedForOnce) {
  script_ = {Reply{404, "<Error><Code>NoSuchKey</Code></Error>"}, object("late", "abc")};
  EXPECT_TRUE(get().is(Errc::kNotFound));
  EXPECT_EQ(server_.requests().size(), 1u);
}

TEST_F(S3StoreTest, A304WithoutETagMeansUnchanged) {
  script_ = {Reply{304, ""}};
  EXPECT_TRUE(get(Revision("abc")).is(Errc::kUnchanged));
  EXPECT_EQ(server_.requests().at(0).header("if-none-match"), "\"abc\"");
}

TEST_F(S3StoreTest, WritesStateTheirConditions) {
  script_ = {object("", "new")};
  EXPECT_EQ(*put(Precondition::none()), Revision("new"));
  EXPECT_EQ(*put(Precondition::absent()), Revision("new"));
  EXPECT_EQ(*put(Precondition::at(Revision("old"))), Revision("new"));
  const auto requests = server_.requests();
  EXPECT_EQ(requests.at(0).header("if-none-match") + requests.at(0).header("if-match"), "");
  EXPECT_EQ(requests.at(1).header("if-none-match"), "*");
  EXPECT_EQ(requests.at(2).header("if-match"), "\"old\"");
  EXPECT_EQ(requests.at(2).body, "body");
}

// R15: a store that does not understand quotes refuses the right revision, and nobody has probed
// it.
TEST_F(S3StoreTest, AWriteRefusedAtTheRightRevisionIsSentAgainWithoutQuotes) {
  script_ = {error(412, "PreconditionFailed"), object("first", "old"), object("", "new")};
  const auto written = put(Precondition::at(Revision("old")));
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(*written, Revision("new"));
  // From now on it is known.
  ASSERT_TRUE(put(Precondition::at(Revision("new"))).ok());
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests.at(0).header("if-match"), "\"old\"");
  EXPECT_EQ(requests.at(1).method, "GET");
  EXPECT_EQ(requests.at(2).header("if-match"), "old");
  EXPECT_EQ(requests.at(2).body, "body");
  EXPECT_EQ(requests.at(3).header("if-match"), "new");
}

TEST_F(S3StoreTest, AWriteRefusedAtAnotherRevisionIsNotSentAgain) {
  script_ = {error(412, "PreconditionFailed"), object("another's", "other"),
             error(412, "PreconditionFailed"), error(404, "NoSuchKey"),
             error(412, "PreconditionFailed"), error(403, "AccessDenied")};
  for (int i = 0; i < 3; ++i) {
    const auto written = put(Precondition::at(Revision("old")));
    ASSERT_TRUE(written.is(Errc::kConflict)) << i;
    EXPECT_EQ(written.error().message, "another writer came first at k");
  }
  EXPECT_EQ(server_.requests().size(), 6u);
}

TEST_F(S3StoreTest, WhatIsRefusedInBothSpellingsIsAConflictAndSaysSo) {
  script_ = {error(412, "PreconditionFailed"), object("first", "old"),
             error(412, "PreconditionFailed"), object("", "new")};
  const auto written = put(Precondition::at(Revision("old")));
  ASSERT_TRUE(written.is(Errc::kConflict));
  EXPECT_NE(written.error().message.find("does not honour If-Match"), std::string::npos);
  // Nothing was learnt from it.
  ASSERT_TRUE(put(Precondition::at(Revision("old"))).ok());
  EXPECT_EQ(server_.requests().back().header("if-match"), "\"old\"");
}

TEST_F(S3StoreTest, AfterAnAcceptedWriteARefusedOneHasLostItsRace) {
  script_ = {object("", "new"), error(412, "PreconditionFailed"), object("first", "new")};
  ASSERT_TRUE(put(Precondition::at(Revision("old"))).ok());
  EXPECT_TRUE(put(Precondition::at(Revision("new"))).is(Errc::kConflict));
  EXPECT_EQ(server_.requests().size(), 2u);
}

TEST_F(S3StoreTest, ASpellingThatIsGivenIsTheOnlyOne) {
  open("&if-match=quoted");
  script_ = {error(412, "PreconditionFailed")};
  EXPECT_TRUE(put(Precondition::at(Revision("old"))).is(Errc::kConflict));
  open("&if-match=unquoted");
  EXPECT_TRUE(put(Precondition::at(Revision("old"))).is(Errc::kConflict));
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests.at(0).header("if-match"), "\"old\"");
  EXPECT_EQ(requests.at(1).header("if-match"), "old");
}

// P01, P03: nothing but the caller repeats a write, and its four failures stay apart.
TEST_F(S3StoreTest, AFailedWriteIsSentOnce) {
  open("&if-match=quoted");
  const std::vector<std::pair<Reply, Errc>> cases = {
      {error(412, "PreconditionFailed"), Errc::kConflict},
      {error(409, "ConditionalRequestConflict"), Errc::kAmbiguous},
      {error(500, "InternalError"), Errc::kAmbiguous},
      {error(503, "SlowDown"), Errc::kThrottled},
      {error(429, ""), Errc::kThrottled},
      {error(403, "AccessDenied"), Errc::kDenied},
      {Reply{.fault = Fault::kClose}, Errc::kAmbiguous},
      {Reply{200, "0123456789", {}, Fault::kCutBody}, Errc::kAmbiguous},
      {Reply{200, ""}, Errc::kAmbiguous},
  };
  std::size_t sent = 0;
  for (const auto& [reply, expected] : cases) {
    script_ = {reply};
    const auto result = put(Precondition::at(Revision("old")));
    EXPECT_TRUE(result.is(expected)) << reply.status << " " << to_string(expected);
    EXPECT_EQ(server_.requests().size(), ++sent);
  }
}

TEST_F(S3StoreTest, AHungWriteEndsAtItsDeadlineAsAmbiguous) {
  script_ = {Reply{.fault = Fault::kHang}};
  EXPECT_TRUE(put(Precondition::none(), 500ms).is(Errc::kAmbiguous));
  EXPECT_TRUE(get({}, 50ms).is(Errc::kUnavailable));
}

TEST_F(S3StoreTest, ThrottledSaysWhenToComeBack) {
  Reply slow = error(503, "SlowDown");
  slow.headers = {{"Retry-After", "30"}};
  script_ = {slow};
  const auto write = put(Precondition::none());
  ASSERT_TRUE(write.is(Errc::kThrottled));
  EXPECT_EQ(write.error().retry_after, 30s);
  // A read would have to wait beyond its deadline, so it says so at once.
  const auto read = get();
  ASSERT_TRUE(read.is(Errc::kThrottled));
  EXPECT_EQ(read.error().retry_after, 30s);
  EXPECT_EQ(server_.requests().size(), 2u);
}

// It is no mistake of anyone who asks, and ends no command as one.
TEST_F(S3StoreTest, AReadThatIsRefusedAsAWriteMayPassByItself) {
  script_ = {error(412, "PreconditionFailed"), object("hello", "abc")};
  EXPECT_TRUE(get().ok());
  script_ = {error(412, "PreconditionFailed")};
  EXPECT_TRUE(get({}, 50ms).is(Errc::kUnavailable));
}

TEST_F(S3StoreTest, ReadsAreRetriedWithinTheirDeadline) {
  script_ = {error(500, "InternalError"), Reply{200, "0123456789", {}, Fault::kCutBody},
             error(503, "SlowDown"), object("hello", "abc")};
  ASSERT_TRUE(get().ok());
  EXPECT_EQ(stats().requests, 4u);
  EXPECT_EQ(stats().retries, 3u);
}

TEST_F(S3StoreTest, TheBudgetOfRetriesIsSharedAndEnds) {
  script_ = {error(500, "InternalError")};
  std::promise<void> all;
  int left = 8;
  thread_.run([&] {
    for (int i = 0; i < 8; ++i) {
      store_->get("k", {}, thread_.loop().now() + 10s, [&](const Result<Object>& result) {
        EXPECT_TRUE(result.is(Errc::kUnavailable));
        if (--left == 0) all.set_value();
      });
    }
  });
  all.get_future().wait();
  EXPECT_EQ(stats().requests, 8u + 20u);
}

TEST_F(S3StoreTest, AWrongClockIsSetByTheStoresDateForReadsAndWrites) {
  set_log_sink({});
  Reply skewed = error(403, "RequestTimeTooSkewed");
  skewed.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}};
  script_ = {skewed, object("", "new")};
  ASSERT_TRUE(put(Precondition::at(Revision("old"))).ok());
  ASSERT_TRUE(get().ok());
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_FALSE(requests[0].header("x-amz-date").starts_with("2013"));
  EXPECT_TRUE(requests[1].header("x-amz-date").starts_with("20130524T0000"));
  EXPECT_TRUE(requests[2].header("x-amz-date").starts_with("20130524T0000"));
  EXPECT_EQ(stats().clock_settings, 1u);
}

TEST_F(S3StoreTest, AClockThatCannotBeSetIsDenied) {
  set_log_sink({});
  Reply skewed = error(403, "RequestTimeTooSkewed");
  skewed.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}};
  script_ = {skewed};
  EXPECT_TRUE(get().is(Errc::kDenied));
  EXPECT_EQ(server_.requests().size(), 2u);
}

TEST_F(S3StoreTest, AnExpiredTokenIsRenewedOnce) {
  script_ = {error(403, "ExpiredToken"), object("", "new")};
  EXPECT_TRUE(put(Precondition::none()).ok());
  script_ = {error(403, "ExpiredToken")};
  EXPECT_TRUE(put(Precondition::none()).is(Errc::kDenied));
  EXPECT_EQ(server_.requests().size(), 4u);
}

// S17: no read followed by a blind delete.
TEST_F(S3StoreTest, RemovesOnlyWithoutACondition) {
  script_ = {Reply{204, ""}};
  EXPECT_TRUE(remove().ok());
  EXPECT_EQ(server_.requests().at(0).method, "DELETE");
  EXPECT_TRUE(remove(Revision("abc")).is(Errc::kUnsupported));
  EXPECT_EQ(server_.requests().size(), 1u);
}

TEST_F(S3StoreTest, AGuardedPutIsUnsupported) {
  const auto result = call<Revision>([&](Deadline by, auto done) {
    store_->guarded_put("k", "body", {}, {"other", Precondition::absent()}, by, std::move(done));
  });
  EXPECT_TRUE(result.is(Errc::kUnsupported));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(S3StoreTest, ListsByPrefixAndContinuation) {
  script_ = {
      Reply{200,
            "<ListBucketResult><Contents><Key>pre/w/a</Key><ETag>r</ETag></Contents>"
            "<IsTruncated>true</IsTruncated><NextContinuationToken>t/1+</NextContinuationToken>"
            "</ListBucketResult>"},
      Reply{200, "<ListBucketResult/>"}};
  const auto first = list("w/");
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->objects.at(0).key, "w/a");
  ASSERT_TRUE(list("w/", first->next).ok());
  const auto requests = server_.requests();
  EXPECT_EQ(requests.at(0).target,
            "/bucket?encoding-type=url&list-type=2&max-keys=1000&prefix=pre%2Fw%2F");
  EXPECT_NE(requests.at(1).target.find("continuation-token=t%2F1%2B"), std::string::npos);
}

TEST_F(S3StoreTest, KeysThatAreNoKeysAreRefusedUnsent) {
  for (const std::string& key : {std::string(), std::string("/a"), std::string("a/"),
                                 std::string("a//b"), std::string(1021, 'x')}) {
    const auto result =
        call<Object>([&](Deadline by, auto done) { store_->get(key, {}, by, std::move(done)); });
    EXPECT_TRUE(result.is(Errc::kInvalid)) << key;
  }
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(S3StoreTest, RequestsThatFollowEachOtherShareAConnection) {
  script_ = {object("hello", "abc")};
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(get().ok());
  EXPECT_EQ(server_.connection_count(), 1u);
}

TEST_F(S3StoreTest, NothingIsCalledAfterTheStoreIsGone) {
  script_ = {error(500, "InternalError")};
  int called = 0;
  thread_.run([&] {
    store_->get("k", {}, thread_.loop().now() + 10s, [&](const auto&) { ++called; });
    store_->guarded_put("k", "b", {}, {}, thread_.loop().now() + 10s,
                        [&](const auto&) { ++called; });
    store_.reset();
  });
  thread_.run([] {});
  EXPECT_EQ(called, 0);
}

TEST_F(S3StoreTest, SecretsReachNoErrorNoLogAndNoDescription) {
  // Servers do echo what was signed.
  const std::string leak = "<Error><Code>SignatureDoesNotMatch</Code><Message>" + kSecret + kToken +
                           "</Message><StringToSign>" + kSecret + "</StringToSign></Error>";
  auto log_text = std::make_shared<std::string>();
  auto mutex = std::make_shared<Mutex>();
  set_log_sink(
      [log_text, mutex](const LogLine& line) {
        MutexLock lock(*mutex);
        *log_text += format_text(line) + "\n";
      },
      LogLevel::kDebug);
  std::string text;
  for (const int status : {301, 400, 401, 403, 404, 405, 409, 412, 429, 500, 501, 503}) {
    script_ = {Reply{status, leak, {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}}}};
    text += put(Precondition::at(Revision("old"))).error().message + "\n";
  }
  script_ = {Reply{403,
                   "<Error><Code>RequestTimeTooSkewed</Code></Error>",
                   {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}}}};
  text += put(Precondition::none()).error().message;
  script_ = {Reply{.fault = Fault::kClose}};
  text += put(Precondition::none()).error().message;
  thread_.run([&] { text += store_->describe(); });
  set_log_sink({});
  MutexLock lock(*mutex);
  EXPECT_FALSE(log_text->empty());
  text += *log_text;
  EXPECT_EQ(text.find(kSecret), std::string::npos) << text;
  EXPECT_EQ(text.find(kToken), std::string::npos) << text;
}

}  // namespace s3_store_test
}  // namespace muster
