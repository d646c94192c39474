// The S3 store on Ceph's radosgw, a real S3, by way of two gateways on the same data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "platform/system_clock.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/races.h"
#include "tests/support/radosgw.h"
#include "tests/support/scoped_env.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace s3_store_test {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Where handle `i` goes: half of them to each gateway.
std::string gateway_url(const std::string& prefix, int i) {
  RadosGateway& server = RadosGateway::shared();
  return server.url(prefix, i % 2 == 0 ? server.port() : server.second_port());
}

StoreFactory radosgw_factory() {
  auto opened = std::make_shared<std::atomic<int>>(0);
  return url_store_factory(
      "radosgw", [opened](const std::string& scope) { return gateway_url(scope, (*opened)++); });
}

INSTANTIATE_TEST_SUITE_P(Radosgw, StoreConformance, ::testing::Values(radosgw_factory()));

class S3StoreTest : public ::testing::Test {
 protected:
  RadosGateway& server_ = RadosGateway::shared();
  const std::string prefix_ = "s3-" + system_random().uuid();
  LoopThread thread_;
};

// Takes about 14 s: it is the first here, so radosgw starts in it with a second gateway; then 16
// processes append 50 times each to one object.
TEST_F(S3StoreTest, SixteenProcessesOnTwoGatewaysLoseNoSwap) {
  TestStore store(thread_, open_url(server_.url(prefix_)));
  expect_no_lost_swap(store, [this](int i) { return gateway_url(prefix_, i); });
}

TEST_F(S3StoreTest, OfThirtyTwoCreatorsOneWins) {
  expect_one_creator([this](int i) { return gateway_url(prefix_, i); }, 50);
}

/// Many writes at once, each to a key of its own and each followed by another, until they fail;
/// and what they were told.
class WriteStorm {
 public:
  explicit WriteStorm(TestStore& store) : store_(store) {
    store_.thread().run([this] {
      for (std::size_t i = 0; i < kAtOnce; ++i) write();
    });
  }
  /// Waits for the first answer: from then on others are under way at any moment.
  void await_first() { begun_.get_future().wait(); }
  /// Waits until every line has failed.
  void await() { over_.get_future().wait(); }
  [[nodiscard]] std::ptrdiff_t count(const std::string& outcome) const {
    return std::count(told_.begin(), told_.end(), outcome);
  }
  /// What was told must be true, whichever it was.
  void expect_true_answers(TestStore& reader) {
    for (std::size_t i = 0; i < told_.size(); ++i) {
      const auto read = reader.get(key(i));
      ASSERT_TRUE(read || read.is(Errc::kNotFound)) << read.error().message;
      EXPECT_THAT(told_[i],
                  AnyOf("ok", to_string(Errc::kAmbiguous), to_string(Errc::kUnavailable)));
      if (told_[i] == "ok") {
        EXPECT_TRUE(read) << key(i) << " was acknowledged and is lost";
      }
      if (told_[i] == to_string(Errc::kUnavailable)) {
        EXPECT_FALSE(read) << key(i) << " was said not to be written and is there";
      }
      // Never half of it.
      if (read) {
        EXPECT_EQ(read->body, body(i));
      }
    }
  }

 private:
  static constexpr std::size_t kAtOnce = 64;
  static Key key(std::size_t i) { return "storm/" + std::to_string(i); }
  static std::string body(std::size_t i) {
    return std::string(50'000, static_cast<char>('A' + i % 26));
  }
  void write() {
    const std::size_t i = told_.size();
    told_.emplace_back();
    store_.store().put(key(i), body(i), Precondition::absent(), store_.deadline(),
                       [this, i](const Result<Revision>& made) {
                         told_[i] = made ? "ok" : to_string(made.code());
                         if (++answered_ == 1) begun_.set_value();
                         if (made) return write();
                         if (answered_ == told_.size()) over_.set_value();
                       });
  }

  TestStore& store_;
  std::vector<std::string> told_;
  std::size_t answered_ = 0;
  std::promise<void> begun_;
  std::promise<void> over_;
};

TEST_F(S3StoreTest, AGatewayKilledMidRequestMakesNoAnswerWrong) {
  TestStore reader(thread_, open_url(server_.url(prefix_)));
  LoopThread thread;
  TestStore writer(thread, open_url(server_.url(prefix_, server_.second_port())));
  WriteStorm storm(writer);
  storm.await_first();
  server_.kill(server_.second_port());
  storm.await();
  server_.start(server_.second_port());
  EXPECT_GT(storm.count("ok"), 0);
  storm.expect_true_answers(reader);
}

TEST_F(S3StoreTest, AGatewayKilledWithRequestsInItsHandsLeavesThemAmbiguous) {
  TestStore reader(thread_, open_url(server_.url(prefix_)));
  FaultProxy counting(server_.second_port());
  LoopThread thread;
  TestStore writer(thread, open_url(server_.url(prefix_, counting.port())));
  server_.hang(server_.second_port());
  WriteStorm storm(writer);
  while (counting.requests("PUT") == 0) sleep_for(1ms);
  server_.kill(server_.second_port());
  storm.await();
  server_.start(server_.second_port());
  EXPECT_EQ(storm.count("ok"), 0);
  EXPECT_GT(storm.count(to_string(Errc::kAmbiguous)), 0);
  storm.expect_true_answers(reader);
}

// Takes about 9 s: three calls and then a storm of writes each wait for their deadline of 2 s.
TEST_F(S3StoreTest, AHungGatewayEndsEachCallAtItsDeadline) {
  TestStore reader(thread_, open_url(server_.url(prefix_)));
  LoopThread thread;
  TestStore writer(thread, open_url(server_.url(prefix_, server_.second_port())));
  ASSERT_TRUE(writer.put("before", "body"));
  writer.patience = 2s;
  server_.hang(server_.second_port());
  const MonoTime begin = thread.loop().now();
  EXPECT_TRUE(writer.get("before").is(Errc::kUnavailable));
  EXPECT_TRUE(writer.list("").is(Errc::kUnavailable));
  EXPECT_TRUE(writer.put("during", "body").is(Errc::kAmbiguous));
  EXPECT_LT(thread.loop().now() - begin, 3 * writer.patience + 2s);
  WriteStorm storm(writer);
  storm.await();
  EXPECT_EQ(storm.count("ok"), 0);
  server_.resume(server_.second_port());
  // Once the gateway has answered this, it has had its chance to do what it was sent before.
  writer.patience = 10s;
  ASSERT_TRUE(writer.put("after", "body"));
  storm.expect_true_answers(reader);
}

// R15: commands to a leader are written by processes that never probe the store.
TEST_F(S3StoreTest, AStoreThatNobodyHasProbedWritesAtARevision) {
  TestStore store(thread_, open_url(server_.url(prefix_)));
  auto revision = store.put("key", "0", Precondition::absent());
  ASSERT_TRUE(revision) << revision.error().message;
  const Revision first = *revision;
  for (const char* body : {"1", "2"}) {
    revision = store.put("key", body, Precondition::at(*revision));
    ASSERT_TRUE(revision) << revision.error().message;
  }
  TestStore late(thread_, open_url(server_.url(prefix_)));
  EXPECT_TRUE(late.put("key", "stale", Precondition::at(first)).is(Errc::kConflict));
  EXPECT_EQ(late.get("key")->body, "2");
}

TEST_F(S3StoreTest, AGatewayThatIsNotThereIsUnavailableAndNothingWasWritten) {
  TestStore store(thread_, open_url(server_.url(prefix_, free_port())));
  store.patience = 1s;
  EXPECT_TRUE(store.put("key", "body").is(Errc::kUnavailable));
  EXPECT_TRUE(store.get("key").is(Errc::kUnavailable));
}

TEST_F(S3StoreTest, AWrongSecretIsDeniedAndNotShown) {
  const ScopedEnv wrong("AWS_SECRET_ACCESS_KEY", "not-the-secret");
  TestStore store(thread_, open_url(server_.url(prefix_)));
  for (const Error& error : {store.get("key").error(), store.put("key", "body").error(),
                             store.list("").error(), store.remove("key").error()}) {
    EXPECT_EQ(error.code, Errc::kDenied) << error.message;
    EXPECT_THAT(error.message, HasSubstr("secret"));
    EXPECT_THAT(error.message, Not(HasSubstr("not-the-secret")));
  }
  const Status safe = probe(store);
  EXPECT_TRUE(safe.is(Errc::kDenied)) << safe.error().message;
}

TEST_F(S3StoreTest, AnAbsentBucketIsNamedAndIsNoAbsentObject) {
  std::string url = server_.url(prefix_);
  url.replace(url.find("//muster/"), 9, "//no-such-bucket/");
  TestStore store(thread_, open_url(url));
  for (const Error& error :
       {store.get("key").error(), store.put("key", "body").error(), store.list("").error()}) {
    EXPECT_EQ(error.code, Errc::kInvalid) << error.message;
    EXPECT_THAT(error.message, HasSubstr("bucket no-such-bucket does not exist"));
    EXPECT_THAT(error.message, Not(HasSubstr("\n")));
  }
}

}  // namespace s3_store_test
}  // namespace muster
