// What the muster store does about answers that are wrong, lost, late, or name someone else.
#include <grpc/status.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/support/store_conformance.h"
#include "tests/support/store_service_double.h"
#include "tests/support/watch_log.h"

namespace muster {
namespace muster_store_test {

using Fault = StoreServiceDouble::Fault;
using Kind = WatchEvent::Kind;

class MusterStoreTest : public ::testing::Test {
 protected:
  TestStore& open(const std::string& url) {
    store_ = std::make_unique<TestStore>(thread_, open_url(url));
    return *store_;
  }
  std::string both(const std::string& prefix) const {
    return "muster://" + first_.endpoint() + "," + second_.endpoint() + "/" + prefix;
  }

  StoreServiceDouble first_;
  StoreServiceDouble second_;
  LoopThread thread_;
  std::unique_ptr<TestStore> store_;
};

// P01: whatever comes back, a write that left is not sent again, and its outcome is not guessed.
TEST_F(MusterStoreTest, AWriteThatMayHaveLandedIsSentOnceAndAmbiguous) {
  TestStore& store = open(both("app"));
  int sent = 0;
  for (const int code : {GRPC_STATUS_UNKNOWN, GRPC_STATUS_UNAVAILABLE, GRPC_STATUS_INTERNAL,
                         GRPC_STATUS_CANCELLED, GRPC_STATUS_DEADLINE_EXCEEDED}) {
    for (auto* server : {&first_, &second_}) server->always("Put", {true, code, "lost", ""});
    EXPECT_TRUE(store.put("k" + std::to_string(code), "body").is(Errc::kAmbiguous)) << code;
    EXPECT_EQ(first_.count("Put") + second_.count("Put"), ++sent);
    for (auto* server : {&first_, &second_}) {
      server->always("Remove", {false, code, "lost", ""});
    }
    EXPECT_TRUE(store.remove("k").is(Errc::kAmbiguous)) << code;
  }
  EXPECT_EQ(first_.count("Remove") + second_.count("Remove"), sent);
}

TEST_F(MusterStoreTest, AWriteThatIsNeverAnsweredEndsAmbiguousByItsDeadline) {
  TestStore& store = open(first_.url("app"));
  store.patience = 300ms;
  first_.always("Put", {true, 0, "", ""});
  EXPECT_TRUE(store.put("k", "body", Precondition::absent()).is(Errc::kAmbiguous));
  EXPECT_EQ(first_.count("Put"), 1);
  store.patience = 10s;
  EXPECT_EQ(store.get("k")->body, "body");
}

TEST_F(MusterStoreTest, ACallWithoutTimeIsNotSent) {
  TestStore& store = open(first_.url("app"));
  store.patience = -1s;
  EXPECT_TRUE(store.put("k", "body").is(Errc::kUnavailable));
  EXPECT_TRUE(store.get("k").is(Errc::kUnavailable));
  EXPECT_EQ(first_.count("Put") + first_.count("Get"), 0);
}

TEST_F(MusterStoreTest, AWriteThatCouldNotLeaveIsUnavailable) {
  const std::string url = first_.url("app");
  first_.shut_down();
  TestStore& store = open(url);
  store.patience = 500ms;
  EXPECT_TRUE(store.put("k", "body").is(Errc::kUnavailable));
}

TEST_F(MusterStoreTest, TheLeaderThatAServerNamesIsAskedAndStayedWith) {
  TestStore& store = open(first_.url("app"));
  first_.always("Put", {false, GRPC_STATUS_FAILED_PRECONDITION, "not me", second_.endpoint()});
  ASSERT_TRUE(store.put("k", "body", Precondition::absent()));
  EXPECT_EQ(first_.count("Put"), 1);
  EXPECT_EQ(second_.count("Put"), 1);
  EXPECT_EQ(store.get("k")->body, "body");
  EXPECT_EQ(second_.count("Get"), 1);
}

// Two servers that each take the other for the leader must not be asked in a storm.
TEST_F(MusterStoreTest, AHintIsFollowedOncePerCall) {
  TestStore& store = open(both("app"));
  store.patience = 400ms;
  first_.always("Put", {false, GRPC_STATUS_FAILED_PRECONDITION, "not me", second_.endpoint()});
  second_.always("Put", {false, GRPC_STATUS_FAILED_PRECONDITION, "not me", first_.endpoint()});
  // Ambiguous when the deadline falls while a request is out.
  const auto put = store.put("k", "body");
  EXPECT_TRUE(put.is(Errc::kUnavailable) || put.is(Errc::kAmbiguous));
  // One redirect, then rounds of both with growing pauses.
  EXPECT_LE(first_.count("Put") + second_.count("Put"), 12);
}

// A failover is ridden out: while nobody leads a write waits, because nothing was done by it.
TEST_F(MusterStoreTest, AWriteThatAServerPutAsideIsSentAgain) {
  TestStore& store = open(both("app"));
  for (auto* server : {&first_, &second_}) {
    for (int i = 0; i < 3; ++i) {
      server->next("Put", {false, GRPC_STATUS_UNAVAILABLE, "nobody leads", "", true});
    }
  }
  EXPECT_TRUE(store.put("k", "body", Precondition::absent()));
  EXPECT_EQ(first_.count("Put") + second_.count("Put"), 7);
}

TEST_F(MusterStoreTest, AReadGoesToAnotherServerWhenOneFailsOrHangs) {
  ASSERT_TRUE(open(second_.url("app")).put("k", "body"));
  for (const int code : {int{GRPC_STATUS_UNAVAILABLE}, 0}) {
    first_.always("Get", {false, code, "", ""});
    TestStore& store = open(both("app"));
    store.patience = 4s;
    const auto read = store.get("k");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->body, "body");
  }
}

TEST_F(MusterStoreTest, ABodyOverTheLimitIsRefusedBeforeItIsSent) {
  TestStore& store = open(first_.url("app"));
  EXPECT_TRUE(store.put("k", std::string(256 * 1024 + 1, 'x')).is(Errc::kInvalid));
  EXPECT_EQ(first_.count("Put"), 0);
  EXPECT_TRUE(store.put("k", std::string(256 * 1024, 'x')));
}

// P16: a watch that had to be made anew goes on where it was.
TEST_F(MusterStoreTest, ABrokenWatchResumesWithoutALoss) {
  TestStore& store = open(first_.url("app"));
  WatchLog log(store, "", "");
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(store.put("k", std::to_string(i)));
    first_.break_watches();
  }
  ASSERT_TRUE(log.wait([](const auto& seen) { return seen.size() >= 5; }));
  const auto seen = log.seen();
  ASSERT_EQ(seen.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(seen[i].object.body, std::to_string(i));
}

TEST_F(MusterStoreTest, AWatchWhoseHistoryIsGoneSaysSoAndGoesOn) {
  TestStore& store = open(first_.url("app"));
  const auto old = store.put("k", "1");
  ASSERT_TRUE(store.put("k", "2"));
  first_.forget_history();
  WatchLog log(store, "", old->value());
  ASSERT_TRUE(log.wait([](const auto& seen) { return !seen.empty(); }));
  EXPECT_EQ(log.seen().front().kind, Kind::kReset);
  ASSERT_TRUE(store.put("k", "3"));
  ASSERT_TRUE(log.wait([](const auto& seen) { return seen.size() == 2; }));
  EXPECT_EQ(log.seen().back().object.body, "3");

  WatchLog lost(store, "", "not a cursor");
  ASSERT_TRUE(lost.wait([](const auto& seen) { return !seen.empty(); }));
  EXPECT_EQ(lost.seen().front().kind, Kind::kReset);
}

// P16: a store in which nothing was ever written is at no revision yet.
TEST_F(MusterStoreTest, AnEmptyStoreIsWatchedFromItsList) {
  TestStore& store = open(first_.url("app"));
  const auto page = store.list("");
  ASSERT_TRUE(page) << page.error().message;
  TestStore another(thread_, open_url(first_.url("app")));
  ASSERT_TRUE(another.put("k", "first"));
  WatchLog log(store, "", page->cursor);
  ASSERT_TRUE(log.wait([](const auto& seen) { return !seen.empty(); }));
  EXPECT_EQ(log.seen().front().object.body, "first");
  EXPECT_TRUE(store.list(""));

  // And from now on, which is before the first write.
  TestStore fresh(thread_, open_url(second_.url("app")));
  WatchLog first_ever(fresh, "", "");
  ASSERT_TRUE(fresh.put("k", "first"));
  EXPECT_TRUE(first_ever.wait([](const auto& seen) { return !seen.empty(); }));
}

TEST_F(MusterStoreTest, AWatchFromNowOnMissesNoWriteThatFollowsIt) {
  for (int round = 0; round < 20; ++round) {
    TestStore& store = open(first_.url("app"));
    WatchLog log(store, "k", "");
    ASSERT_TRUE(store.put("k", std::to_string(round)));
    ASSERT_TRUE(log.wait([](const auto& seen) { return !seen.empty(); }));
    EXPECT_EQ(log.seen().front().object.body, std::to_string(round));
  }
}

// R05: numbers are given out again, and no revision of before holds.
TEST_F(MusterStoreTest, AfterAStepBackInTimeCallsGoOnAndNoOldRevisionHolds) {
  TestStore& store = open(first_.url("app"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store.put("k", std::to_string(i)));
  const auto before = store.get("k");
  ASSERT_TRUE(before);
  first_.go_back_in_time();
  EXPECT_TRUE(store.list("").is(Errc::kUnavailable));
  EXPECT_TRUE(store.get("k").is(Errc::kNotFound));
  EXPECT_TRUE(store.put("k", "new"));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(store.put("k", std::to_string(i)));
  EXPECT_TRUE(store.put("k", "x", Precondition::at(before->revision)).is(Errc::kConflict));
  EXPECT_EQ(store.get("k")->body, "1");
}

TEST_F(MusterStoreTest, DestroyingTheStoreEndsCallsAndWatchesInSilence) {
  TestStore& store = open(first_.url("app"));
  WatchLog log(store, "", "");
  first_.always("Get", {false, 0, "", ""});
  store.thread().run([&] {
    store.store().get("k", {}, store.deadline(), [](auto) { FAIL() << "after its store's end"; });
  });
  store.destroy();
  TestStore another(thread_, open_url(first_.url("app")));
  ASSERT_TRUE(another.put("k", "body"));
  EXPECT_TRUE(log.seen().empty());
}

/// The whole suite, too: what fails here and not on a real musterd is the double's fault, and what
/// fails there and not here is the server's.
StoreFactory double_factory() {
  auto server = std::make_shared<StoreServiceDouble>();
  StoreFactory factory = url_store_factory(
      "double", [server](const std::string& scope) { return server->url(scope); });
  factory.largest_body = 256 * 1024;
  return factory;
}
INSTANTIATE_TEST_SUITE_P(MusterDouble, StoreConformance, ::testing::Values(double_factory()));

}  // namespace muster_store_test
}  // namespace muster
