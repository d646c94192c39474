#include "core/lock/lock_handle.h"

#include <gtest/gtest.h>

namespace muster {
namespace lock_handle_test {

LockHandle handle(LockKind kind, std::uint32_t permits, bool writes) {
  LockHandle made{{kind, permits}, writes, 6s, {}, "alice@host-1"};
  if (!writes) {
    made.permits = {{permits, Epoch(17)}};
  } else {
    for (std::uint32_t i = 0; i <= permits; ++i) made.permits.push_back({i, Epoch(i + 1)});
  }
  return made;
}

TEST(LockHandleTest, SaysAgainWhatItWasMadeOf) {
  for (const LockHandle& each :
       {handle(LockKind::kMutex, 1, false), handle(LockKind::kSemaphore, 3, false),
        handle(LockKind::kReadWrite, 8, false), handle(LockKind::kReadWrite, 64, true)}) {
    const auto again = decode_lock_handle(encode(each));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, each) << encode(each);
  }
  EXPECT_EQ(encode(handle(LockKind::kSemaphore, 3, false)), "s/3/6000/3.17/alice@host-1");
}

TEST(LockHandleTest, WhatNoServerMadeIsRefused) {
  for (const char* text : {"",
                           "x",
                           "m/1/6000/1.17/",
                           "m/2/6000/1.17/a",
                           "q/1/6000/1.17/a",
                           "m/1/99/1.17/a",
                           "m/1/86400001/1.17/a",
                           "m/1/6000/2.17/a",
                           "m/1/6000/0.17/a",
                           "m/1/6000/1.0/a",
                           "m/1/6000/1.17,1.17/a",
                           "m/1/6000//a",
                           "s/65/6000/1.1/a",
                           "s/0/6000/1.1/a",
                           "w/1/6000/1.1/a",
                           "w/1/6000/1.1,0.1/a",
                           "w/1/6000/0.1,1.1,2.1/a",
                           "r/2/6000/0.1/a",
                           "m/1/6000/1.9999999999999999/a",
                           "m/1/6000/1.17/a/b",
                           "m/1/6000/1.17/a b",
                           "mm/1/6000/1.17/a",
                           "m/-1/6000/1.17/a"}) {
    EXPECT_TRUE(decode_lock_handle(text).is(Errc::kInvalid)) << text;
  }
  EXPECT_TRUE(decode_lock_handle(std::string(4000, '1')).is(Errc::kInvalid));
}

TEST(LockHandleTest, AHolderCountsFromItsSendAndByAClockThatMayBeSlower) {
  const LeaseTerms terms{10s};
  ASSERT_EQ(terms.held(), 8400ms);
  constexpr MonoTime kReceived{1000s};
  EXPECT_EQ(left_since_send(kReceived, kReceived + 8400ms, terms), 8400ms);
  // It waited for 5 s: as little as 4.2 s by its own clock.
  EXPECT_EQ(left_since_send(kReceived, kReceived + 13400ms, terms), 12600ms);
}

// What was sent before the request says nothing about the time after it.
TEST(LockHandleTest, ARenewalThatWasSentBeforeTheRequestConfirmsNothing) {
  const LeaseTerms terms{10s};
  constexpr MonoTime kReceived{1000s};
  EXPECT_EQ(left_since_send(kReceived, kReceived + 8399ms, terms), std::nullopt);
}

}  // namespace lock_handle_test
}  // namespace muster
