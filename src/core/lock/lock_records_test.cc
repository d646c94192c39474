#include "core/lock/lock_records.h"

#include <gtest/gtest.h>

#include <string>

#include "core/election/records.h"

namespace muster {
namespace {

TEST(LockRecordsTest, AShapeIsReadAsItWasWritten) {
  for (const LockShape shape :
       {LockShape{LockKind::kMutex, 1}, LockShape{LockKind::kSemaphore, 3},
        LockShape{LockKind::kSemaphore, 1}, LockShape{LockKind::kReadWrite, kPermitsMax}}) {
    const auto read = decode_lock_shape(encode(shape, Nonce("n")));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, shape);
  }
}

TEST(LockRecordsTest, NoTwoBodiesAreEqual) {
  EXPECT_NE(encode(LockShape{}, Nonce("a")), encode(LockShape{}, Nonce("b")));
}

TEST(LockRecordsTest, WhatIsNoShapeIsRefused) {
  for (const char* body :
       {"", "[]", "{}", R"({"format":1})", R"({"format":1,"kind":"mutex"})",
        R"({"format":1,"kind":"mutex","permits":2})",
        R"({"format":1,"kind":"monitor","permits":1})",
        R"({"format":1,"kind":"semaphore","permits":0})", R"({"format":-1,"kind":"mutex"})",
        R"({"format":1,"kind":"semaphore","permits":65})",
        R"({"format":1,"kind":"semaphore","permits":"3"})",
        R"({"format":1,"kind":["mutex"],"permits":1})"}) {
    EXPECT_TRUE(decode_lock_shape(body).is(Errc::kCorrupt)) << body;
  }
}

TEST(LockRecordsTest, ALaterFormatIsNotDamage) {
  EXPECT_TRUE(decode_lock_shape(R"({"format":2,"kind":"x"})").is(Errc::kUnsupported));
}

TEST(LockRecordsTest, AShapeIsNamedInWords) {
  EXPECT_EQ(to_string(LockShape{}), "a mutex");
  EXPECT_EQ(to_string(LockShape{LockKind::kSemaphore, 1}), "a semaphore with 1 permit");
  EXPECT_EQ(to_string(LockShape{LockKind::kReadWrite, 8}), "a read/write lock with 8 permits");
}

TEST(LockRecordsTest, APermitIsFoundByEachOfItsKeys) {
  const LockKeys keys("a");
  for (const std::uint32_t number : {kWriters, 1U, 7U, kPermitsMax}) {
    const NamespaceKeys election = NamespaceKeys::below(keys.permit(number));
    EXPECT_EQ(keys.permit_of(election.state), number);
    EXPECT_EQ(keys.permit_of(election.metadata), number);
  }
  for (const char* key :
       {"lock.json", "permit=/x", "permit=0/x", "permit=65/x", "permit=1", "other"})
    EXPECT_FALSE(keys.permit_of(keys.root + key)) << key;
  EXPECT_FALSE(keys.permit_of(LockKeys("ab").permit(1) + "state.json"));
}

TEST(LockRecordsTest, NoKeyOfALockBelongsToAnElection) {
  const LockKeys keys("a");
  EXPECT_FALSE(election_of(keys.shape));
  EXPECT_FALSE(election_of(NamespaceKeys::below(keys.permit(1)).state));
}

}  // namespace
}  // namespace muster
