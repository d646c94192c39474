#include "core/election/lease.h"

#include <gtest/gtest.h>

namespace muster {
namespace lease_test {

constexpr MonoTime kStart{1000s};

TEST(LeaseObserverTest, NothingSeenIsNotExpired) {
  const LeaseObserver observer;
  EXPECT_FALSE(observer.expired(kStart + 1h));
}

// P22: counting from the request instead of the reply would expire too early.
TEST(LeaseObserverTest, AFullLeaseIsCountedFromTheFirstReceipt) {
  LeaseObserver observer;
  observer.observe(Revision("1"), 15s, kStart);
  EXPECT_FALSE(observer.expired(kStart + 15s - 1ns));
  EXPECT_TRUE(observer.expired(kStart + 15s));
}

TEST(LeaseObserverTest, RereadingTheSameRevisionDoesNotPostponeExpiry) {
  LeaseObserver observer;
  observer.observe(Revision("1"), 15s, kStart);
  observer.observe(Revision("1"), 15s, kStart + 14s);
  EXPECT_TRUE(observer.expired(kStart + 15s));
}

TEST(LeaseObserverTest, ANewRevisionBeginsANewLeaseOfTheLengthItsHolderWrote) {
  LeaseObserver observer;
  observer.observe(Revision("1"), 15s, kStart);
  observer.observe(Revision("2"), 30s, kStart + 10s);
  EXPECT_FALSE(observer.expired(kStart + 39s));
  EXPECT_TRUE(observer.expired(kStart + 40s));
}

// P20: a slow reply does not lengthen the lease.
TEST(LeaseTermsTest, TheHolderCountsFromTheSendAndStopsBeforeOthersBegin) {
  const LeaseTerms terms{15s, kDefaultDrift};
  EXPECT_EQ(terms.deadline(kStart), kStart + 12600ms);
}

TEST(LeaseTimingsTest, TheDefaultsAreSafe) {
  EXPECT_TRUE(LeaseTimings::for_lease(15s, 5s).validate().ok());
  EXPECT_TRUE(LeaseTimings::for_lease(6s, 6s / 5).validate().ok());
  EXPECT_TRUE(LeaseTimings::for_lease(500ms, 100ms).validate().ok());
}

TEST(LeaseTimingsTest, UnsafeTimingsAreRefusedWithTheSumShown) {
  const Status status = LeaseTimings::for_lease(6s, 5s).validate();
  ASSERT_TRUE(status.is(Errc::kInvalid));
  EXPECT_NE(status.error().message.find("= 8s"), std::string::npos) << status.error().message;
  EXPECT_NE(status.error().message.find("5040ms"), std::string::npos) << status.error().message;
}

TEST(LeaseTimingsTest, ALeaseThatOthersWouldNotReadIsRefused) {
  EXPECT_TRUE(LeaseTimings::for_lease(24h, 1h).validate().ok());
  EXPECT_TRUE(LeaseTimings::for_lease(25h, 1h).validate().is(Errc::kInvalid));
}

// R63: it was a whole lease, whatever that was.
TEST(LeaseTimingsTest, AStepDownIsAHoldOffOfFiveSecondsOrAHeartbeatAndNeverMoreThanALease) {
  EXPECT_EQ(hold_off_after_step_down(60s, 2s), 5s);
  EXPECT_EQ(hold_off_after_step_down(60s, 12s), 12s);
  EXPECT_EQ(hold_off_after_step_down(1s, 200ms), 1s);
}

}  // namespace lease_test
}  // namespace muster
