// What AWS and networks do and radosgw does not: scripted by a proxy in front of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "platform/system_clock.h"
#include "tests/support/cas_list.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/radosgw.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace s3_fault_test {

using Kind = Fault::Kind;

class S3FaultTest : public ::testing::Test {
 protected:
  S3FaultTest() {
    const Status safe = probe(store_);
    EXPECT_TRUE(safe) << safe.error().message;
    proxy_.reset();
  }
  /// The next `times` requests of `method` are answered so.
  void answer(const std::string& method, const std::string& reply, int times = 1) {
    proxy_.inject({.kind = Kind::kAnswer,
                   .method = method,
                   .path_part = prefix_,
                   .answer = reply,
                   .times = times});
  }
  void inject(Kind kind, const std::string& method, Duration stall = 0s) {
    proxy_.inject({.kind = kind, .method = method, .path_part = prefix_, .stall = stall});
  }
  Revision create(const Key& key) {
    const auto made = store_.put(key, "first", Precondition::absent());
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : Revision();
  }

  const std::string prefix_ = "fault-" + system_random().uuid();
  FaultProxy proxy_{RadosGateway::shared().port()};
  LoopThread thread_;
  TestStore store_{thread_, open_url(RadosGateway::shared().url(prefix_, proxy_.port()))};
  /// The same data without the proxy.
  TestStore direct_{thread_, open_url(RadosGateway::shared().url(prefix_))};
};

// P03: 409, 412, 429 and 5xx ask for four reactions.
TEST_F(S3FaultTest, AConditionalRequestConflictSettlesNothing) {
  // Takes about 10 s: it is the first here, so radosgw with its Ceph starts in it.
  const Revision first = create("key");
  answer("PUT", s3_answers::conditional_request_conflict());
  const auto written = store_.put("key", "second", Precondition::at(first));
  EXPECT_TRUE(written.is(Errc::kAmbiguous)) << "409 is not \"another was first\"";
  answer("PUT", s3_answers::conditional_request_conflict());
  EXPECT_TRUE(store_.put("new", "body", Precondition::absent()).is(Errc::kAmbiguous))
      << "409 is not \"exists\"";
  EXPECT_TRUE(store_.get("new").is(Errc::kNotFound));
  EXPECT_TRUE(store_.put("key", "second", Precondition::at(first)));
}

TEST_F(S3FaultTest, APreconditionFailedIsAConflict) {
  const Revision first = create("key");
  answer("PUT", s3_answers::precondition_failed());
  EXPECT_TRUE(store_.put("key", "second", Precondition::at(first)).is(Errc::kConflict));
}

TEST_F(S3FaultTest, ThrottlingNamesWhenToComeBack) {
  const Revision first = create("key");
  for (const std::string& reply : {s3_answers::slow_down(7), s3_answers::too_many_requests(7)}) {
    answer("PUT", reply);
    const auto written = store_.put("key", "second", Precondition::at(first));
    ASSERT_TRUE(written.is(Errc::kThrottled)) << (written ? "ok" : written.error().message);
    EXPECT_EQ(written.error().retry_after, 7s);
  }
}

TEST_F(S3FaultTest, AServerErrorOnAWriteIsAmbiguous) {
  const Revision first = create("key");
  for (const char* status : {"500 Internal Server Error", "502 Bad Gateway",
                             "503 Service Unavailable", "504 Gateway Timeout"}) {
    answer("PUT", s3_answers::error(status, "InternalError"));
    EXPECT_TRUE(store_.put("key", "second", Precondition::at(first)).is(Errc::kAmbiguous))
        << status;
  }
}

// P01, P04: a write is sent once, whatever comes back; the caller alone may repeat it.
TEST_F(S3FaultTest, NoWriteIsEverRepeatedByTheStore) {
  const Revision first = create("key");
  int expected = proxy_.requests("PUT");
  for (const std::string& reply :
       {s3_answers::conditional_request_conflict(), s3_answers::precondition_failed(),
        s3_answers::slow_down(0), s3_answers::too_many_requests(0), s3_answers::internal_error()}) {
    answer("PUT", reply);
    EXPECT_FALSE(store_.put("key", "second", Precondition::at(first)));
    EXPECT_EQ(proxy_.requests("PUT"), ++expected);
  }
  for (const Kind kind : {Kind::kLoseReply, Kind::kClose}) {
    inject(kind, "PUT");
    EXPECT_TRUE(store_.put("other", "body").is(Errc::kAmbiguous));
    EXPECT_EQ(proxy_.requests("PUT"), ++expected);
  }
  inject(Kind::kClose, "DELETE");
  EXPECT_TRUE(store_.remove("key").is(Errc::kAmbiguous));
  EXPECT_EQ(proxy_.requests("DELETE"), 1);
}

TEST_F(S3FaultTest, AReadIsRepeatedWithinItsDeadline) {
  create("key");
  for (const std::string& reply : {s3_answers::internal_error(), s3_answers::slow_down(0)}) {
    answer("GET", reply);
    const auto read = store_.get("key");
    EXPECT_TRUE(read) << read.error().message;
  }
  inject(Kind::kClose, "GET");
  EXPECT_TRUE(store_.get("key"));
  answer("GET", s3_answers::internal_error());
  EXPECT_TRUE(store_.list(""));
}

TEST_F(S3FaultTest, AReadThatOnlyFailsEndsByItsDeadlineAfterFewRequests) {
  create("key");
  answer("GET", s3_answers::internal_error(), 1000);
  store_.patience = 2s;
  const MonoTime begin = thread_.loop().now();
  EXPECT_TRUE(store_.get("key").is(Errc::kUnavailable));
  EXPECT_LT(thread_.loop().now() - begin, store_.patience + 1s);
  EXPECT_LT(proxy_.requests("GET"), 30) << "backoff keeps a failing store from being hammered";
}

// P01: the own PUT landed and its reply was lost. The store says "ambiguous", the caller reads
// back and finds its own body; nobody takes it for a lost race.
TEST_F(S3FaultTest, AWriteWhoseReplyWasLostIsAmbiguousAndFoundByReadingBack) {
  const Revision first = create("key");
  inject(Kind::kLoseReply, "PUT");
  const auto written = store_.put("key", "mine", Precondition::at(first));
  EXPECT_TRUE(written.is(Errc::kAmbiguous)) << (written ? "ok" : written.error().message);
  const auto read = store_.get("key");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->body, "mine");
  EXPECT_TRUE(store_.put("key", "next", Precondition::at(read->revision)));
}

TEST_F(S3FaultTest, EverySecondReplyLostLosesNoSwap) {
  ASSERT_TRUE(store_.put("list", "start", Precondition::absent()));
  const Deadline give_up = thread_.loop().now() + 60s;
  for (int i = 0; i < 20; ++i) {
    if (i % 2 == 0) inject(Kind::kLoseReply, "PUT");
    const auto step = append_by_cas(store_, "list", std::to_string(i), give_up);
    ASSERT_TRUE(step) << step.error().message;
  }
  const auto entries = list_entries(direct_.get("list")->body);
  ASSERT_EQ(entries.size(), 21u);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(entries[i + 1], std::to_string(i));
}

TEST_F(S3FaultTest, ATruncatedBodyIsNeverTakenForTheObject) {
  ASSERT_TRUE(store_.put("key", std::string(100'000, 'x'), Precondition::absent()));
  inject(Kind::kTruncateReply, "GET");
  const auto read = store_.get("key");
  ASSERT_TRUE(read || read.is(Errc::kUnavailable)) << read.error().message;
  if (read) {
    EXPECT_EQ(read->body.size(), 100'000u);
  }
  EXPECT_EQ(proxy_.faults(), 1);
}

TEST_F(S3FaultTest, ATruncatedListIsNeverTakenForTheWhole) {
  for (int i = 0; i < 20; ++i) create("key" + std::to_string(i));
  inject(Kind::kTruncateReply, "GET");
  const auto page = store_.list("");
  ASSERT_TRUE(page || page.is(Errc::kUnavailable)) << page.error().message;
  if (page) {
    EXPECT_EQ(page->objects.size(), 20u);
  }
}

TEST_F(S3FaultTest, AMinutesStallEndsAtTheDeadline) {
  const Revision first = create("key");
  store_.patience = 1s;
  for (const Kind kind : {Kind::kStall, Kind::kStallReply}) {
    inject(kind, "PUT", 60s);
    inject(kind, "GET", 60s);
    const MonoTime begin = thread_.loop().now();
    const auto written = store_.put("key", "second", Precondition::at(first));
    EXPECT_TRUE(written.is(Errc::kAmbiguous)) << (written ? "ok" : written.error().message);
    EXPECT_TRUE(store_.get("key").is(Errc::kUnavailable));
    EXPECT_LT(thread_.loop().now() - begin, 4s);
  }
  // The calls that wait hold up no other: the proxy still has four of them in its hands.
  store_.patience = 10s;
  EXPECT_EQ(store_.get("key")->body, "second") << "the stalled reply's write had landed";
}

TEST_F(S3FaultTest, AStalledWriteMayLandAfterItWasGivenUp) {
  constexpr Duration kStall = 4s;  // Long beside a probe on a busy machine.
  const Revision first = create("key");
  store_.patience = 500ms;
  inject(Kind::kStall, "PUT", kStall);
  EXPECT_TRUE(store_.put("key", "late", Precondition::at(first)).is(Errc::kAmbiguous));
  EXPECT_EQ(direct_.get("key")->body, "first") << "not yet";
  // Only a write at the same revision settles it: now the late one can land no more.
  ASSERT_TRUE(probe(direct_));
  ASSERT_TRUE(direct_.put("key", "settled", Precondition::at(first)));
  const MonoTime landed = thread_.loop().now() + kStall;
  while (thread_.loop().now() < landed) EXPECT_EQ(direct_.get("key")->body, "settled");
}

}  // namespace s3_fault_test
}  // namespace muster
