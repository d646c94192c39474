#include "server/security/crl_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/log.h"
#include "platform/event_loop.h"
#include "server/security/tls_test_authority.h"
#include "sim/world.h"

namespace muster::server {
namespace crl_keeper_test {

using security::Standing;
using ::testing::HasSubstr;

class CrlKeeperTest : public ::testing::Test {
 protected:
  CrlKeeperTest() {
    set_log_sink([this](const LogLine& line) { logged_.push_back(line.level); });
    keeper_.emplace(process_, fetch(), ca_.bundle(), CrlKeeper::Options{});
    keeper_->on_change([this] { ++changes_; });
  }
  ~CrlKeeperTest() override { set_log_sink({}); }

  CrlKeeper::Fetch fetch() {
    return [this](MonoTime, CrlKeeper::Fetched done) {
      ++fetches_;
      if (hang_) {
        waiting_ = std::move(done);
      } else {
        done(answer_);
      }
    };
  }
  /// And a moment more: simulated timers never ring early, but a little late.
  void run(Duration time) { world_.run(world_.now() + time + 1ms); }
  [[nodiscard]] Standing standing(const std::string& serial) const {
    return keeper_->standing(ca_.name(), serial);
  }
  [[nodiscard]] auto logged(LogLevel level) const {
    return std::count(logged_.begin(), logged_.end(), level);
  }

  std::vector<LogLevel> logged_;
  sim::World world_{1};
  sim::Process process_{world_, 1.0, 1'800'000'000s};
  const TestAuthority ca_{process_.wall_now()};
  Result<std::string> answer_ = ca_.list({"ab"});
  bool hang_ = false;
  CrlKeeper::Fetched waiting_;
  int fetches_ = 0;
  int changes_ = 0;
  std::optional<CrlKeeper> keeper_;
};

TEST_F(CrlKeeperTest, NobodyIsGoodBeforeTheFirstList) {
  EXPECT_EQ(standing("ac"), Standing::kUnknown);
  keeper_->refresh();
  EXPECT_EQ(standing("ac"), Standing::kGood);
  EXPECT_EQ(standing("ab"), Standing::kRevoked);
  EXPECT_EQ(changes_, 1);
}

TEST_F(CrlKeeperTest, IsRefreshedEveryFiveMinutesAndTellsOfChanges) {
  keeper_->refresh();
  run(10min);
  EXPECT_EQ(fetches_, 3);
  EXPECT_EQ(changes_, 1);
  answer_ = ca_.list({"ab", "ac"}, 10min);
  run(5min);
  EXPECT_EQ(standing("ac"), Standing::kRevoked);
  EXPECT_EQ(changes_, 2);
  EXPECT_TRUE(logged_.empty());
}

// T22: fails closed after the maximum age, tells of it from the first failure on, recovers.
TEST_F(CrlKeeperTest, WithoutAListForAnHourItIsClosedAndOpensByItself) {
  keeper_->refresh();
  answer_ = Error{Errc::kUnavailable, "refused"};
  run(5min);
  EXPECT_EQ(keeper_->health().failures, 1u);
  EXPECT_TRUE(keeper_->health().failing);
  EXPECT_EQ(logged(LogLevel::kWarn), 1);
  EXPECT_EQ(logged(LogLevel::kError), 0);
  run(54min + 59s);
  EXPECT_EQ(standing("ac"), Standing::kGood);
  run(1s);
  EXPECT_EQ(standing("ac"), Standing::kUnknown);
  EXPECT_EQ(standing("ab"), Standing::kRevoked);
  EXPECT_THAT(keeper_->health().closed_because.value(), HasSubstr("for 1h"));
  run(5h);
  EXPECT_EQ(logged(LogLevel::kWarn), 1);
  EXPECT_EQ(logged(LogLevel::kError), 1);
  EXPECT_EQ(changes_, 2);
  EXPECT_GT(keeper_->health().failures, 600u);
  answer_ = ca_.list({"ab"});
  run(30s);
  EXPECT_EQ(standing("ac"), Standing::kGood);
  EXPECT_FALSE(keeper_->health().closed_because.has_value());
  EXPECT_FALSE(keeper_->health().failing);
  EXPECT_EQ(changes_, 3);
  EXPECT_EQ(logged(LogLevel::kInfo), 1);
}

// A list in a file is made by hand: nobody would think of it before it has expired.
TEST_F(CrlKeeperTest, AListThatRunsOutSoonIsWarnedOfOnceAndAgainAfterTheNext) {
  answer_ = ca_.list({"ab"}, 0s, 100min);
  keeper_->refresh();
  EXPECT_EQ(keeper_->health().term->whole, 100min);
  run(85min);
  EXPECT_EQ(logged(LogLevel::kWarn), 0);
  run(10min);
  EXPECT_EQ(logged(LogLevel::kWarn), 1);
  answer_ = ca_.list({"ab"}, 95min, 100min);
  keeper_->refresh();
  EXPECT_FALSE(keeper_->health().term->nearly_over());
  run(85min);
  EXPECT_EQ(logged(LogLevel::kWarn), 1);
  run(10min);
  EXPECT_EQ(logged(LogLevel::kWarn), 2);
  EXPECT_EQ(logged(LogLevel::kError), 0);
}

// T22: the attempt that should have renewed it hangs; that keeps nobody in.
TEST_F(CrlKeeperTest, TheMaximumAgeIsToldAtOnceWhateverAFetchIsDoing) {
  keeper_->refresh();
  hang_ = true;
  run(59min + 59s);
  EXPECT_EQ(fetches_, 2);
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(logged(LogLevel::kError), 0);
  run(1s);
  EXPECT_EQ(changes_, 2);
  EXPECT_EQ(logged(LogLevel::kError), 1);
  EXPECT_EQ(standing("ac"), Standing::kUnknown);
  std::exchange(waiting_, {})(answer_);
  EXPECT_EQ(standing("ac"), Standing::kGood);
  EXPECT_EQ(changes_, 3);
}

TEST_F(CrlKeeperTest, AnUnreadableFirstListIsToldAsClosedAtOnce) {
  answer_ = std::string("nonsense");
  keeper_->refresh();
  EXPECT_EQ(standing("ac"), Standing::kUnknown);
  EXPECT_EQ(logged(LogLevel::kError), 1);
  answer_ = ca_.list({});
  run(30s);
  EXPECT_EQ(standing("ac"), Standing::kGood);
}

TEST_F(CrlKeeperTest, AForgedOrOlderListChangesNothing) {
  keeper_->refresh();
  answer_ = TestAuthority(process_.wall_now()).list({});
  run(5min);
  EXPECT_EQ(keeper_->health().failures, 1u);
  EXPECT_EQ(standing("ab"), Standing::kRevoked);
  answer_ = ca_.list({}, -1s);
  run(30s);
  EXPECT_EQ(keeper_->health().failures, 2u);
  EXPECT_EQ(standing("ab"), Standing::kRevoked);
  EXPECT_EQ(changes_, 1);
}

TEST_F(CrlKeeperTest, ItsNextUpdateIsHonoured) {
  answer_ = ca_.list({}, 0s, 7min);
  keeper_->refresh();
  run(7min - 1s);
  EXPECT_EQ(standing("ac"), Standing::kGood);
  run(1s);
  EXPECT_EQ(standing("ac"), Standing::kUnknown);
  run(3min);
  EXPECT_EQ(logged(LogLevel::kError), 1);
}

// P11: authorities are replaced while it runs.
TEST_F(CrlKeeperTest, OtherAuthoritiesCountAtOnceAndOldListsStayUntilThen) {
  keeper_->refresh();
  const TestAuthority other(process_.wall_now(), "Other CA");
  std::vector<pki::Certificate> both = other.bundle();
  both.push_back(std::move(ca_.bundle().front()));
  answer_ = ca_.list({"ab"}) + other.list({"ac"});
  keeper_->use_authorities(std::move(both));
  EXPECT_EQ(standing("ab"), Standing::kRevoked);
  EXPECT_EQ(standing("ac"), Standing::kGood);
  EXPECT_EQ(keeper_->standing("CN=Other CA", "ac"), Standing::kRevoked);
  EXPECT_EQ(keeper_->standing("CN=Other CA", "ab"), Standing::kGood);
  // A list that an authority no longer trusted has signed is refused; what is known stays.
  keeper_->use_authorities(other.bundle());
  EXPECT_TRUE(keeper_->health().failing);
  EXPECT_EQ(keeper_->standing("CN=Other CA", "ac"), Standing::kRevoked);
}

TEST_F(CrlKeeperTest, OneFetchAtATimeAndOneMoreWhenAskedMeanwhile) {
  hang_ = true;
  keeper_->refresh();
  keeper_->refresh();
  keeper_->refresh();
  EXPECT_EQ(fetches_, 1);
  hang_ = false;
  // Its age counts from when it was asked for, however long the answer took.
  run(9s);
  std::exchange(waiting_, {})(answer_);
  EXPECT_GE(keeper_->health().age.value(), 9s);
  run(1ms);
  EXPECT_EQ(fetches_, 2);
  run(4min);
  EXPECT_EQ(fetches_, 2);
}

TEST_F(CrlKeeperTest, AnAnswerAfterItsEndIsNobodys) {
  hang_ = true;
  keeper_->refresh();
  keeper_.reset();
  waiting_(answer_);
  run(1h);
  EXPECT_EQ(fetches_, 1);
}

TEST(CrlKeeperThreadTest, AnyThreadMayAskWhileListsChange) {
  LoopThread thread;
  const TestAuthority ca(thread.loop().wall_now());
  const std::string lists[] = {ca.list({"ab"}), ca.list({"ab", "cd"})};
  int turn = 0;
  std::unique_ptr<CrlKeeper> keeper;
  thread.run([&] {
    keeper = std::make_unique<CrlKeeper>(
        thread.loop(), [&](MonoTime, const CrlKeeper::Fetched& done) { done(lists[turn++ % 2]); },
        ca.bundle(), CrlKeeper::Options{});
    keeper->refresh();
  });
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread asking([&] {
    while (!stop) {
      wrong += keeper->standing(ca.name(), "ab") != Standing::kRevoked ? 1 : 0;
      wrong += keeper->health().closed_because ? 1 : 0;
    }
  });
  for (int i = 0; i < 200; ++i) thread.run([&] { keeper->refresh(); });
  stop = true;
  asking.join();
  EXPECT_EQ(wrong, 0);
  thread.run([&] { keeper.reset(); });
}

}  // namespace crl_keeper_test
}  // namespace muster::server
