#include "tests/api/scene.h"

#include <muster/lock.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <future>
#include <memory>
#include <set>

namespace api_test {
namespace {

using muster::Lock;
using muster::LockOptions;
using muster::Token;

LockOptions lock_of(std::chrono::nanoseconds ttl = 60s, std::chrono::nanoseconds wait = kSoon) {
  LockOptions options;
  options.ttl = ttl;
  options.wait = wait;
  return options;
}
LockOptions semaphore_of(std::uint32_t permits, std::chrono::nanoseconds wait = kSoon) {
  LockOptions options = lock_of(60s, wait);
  options.permits = permits;
  return options;
}
LockOptions shared_of(bool shared, std::chrono::nanoseconds wait = kSoon) {
  LockOptions options = lock_of(60s, wait);
  options.shared = shared;
  options.permits = 3;
  return options;
}

/// Every arbiter that a program may have: one that several processes share, and one within this.
class LockTest : public ::testing::TestWithParam<const char*> {
 protected:
  LockTest()
      : arbiter_(
            Arbiter::open(GetParam() == std::string("file") ? url_of(dir_) : "memory:").value()) {}

  TempDir dir_;
  Arbiter arbiter_;
};
INSTANTIATE_TEST_SUITE_P(Arbiters, LockTest, ::testing::Values("file", "memory"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(LockTest, AMutexHasOneHolderAndTheNextOneAHigherToken) {
  Lock first = Lock::acquire(arbiter_, "m", lock_of()).value();
  EXPECT_TRUE(first.held());
  EXPECT_GT(first.left(), 30s);
  const auto none = Lock::acquire(arbiter_, "m", lock_of(60s, 0s));
  ASSERT_TRUE(none.is(Code::kTimeout)) << none.message();
  EXPECT_NE(none.message().find("m is held by others"), std::string::npos) << none.message();
  const Token token = first.token();
  EXPECT_TRUE(first.unlock().ok());
  EXPECT_FALSE(first.held());
  EXPECT_EQ(first.left(), 0s);
  EXPECT_TRUE(first.unlock().ok());
  const Lock next = Lock::acquire(arbiter_, "m", lock_of(60s, 0s)).value();
  EXPECT_GT(next.token(), token);
}

TEST_P(LockTest, ATakerThatWaitsFollowsAtOnce) {
  std::optional<Lock> first = Lock::acquire(arbiter_, "m", lock_of()).value();
  auto second =
      std::async(std::launch::async, [&] { return Lock::acquire(arbiter_, "m", lock_of()); });
  EXPECT_EQ(second.wait_for(300ms), std::future_status::timeout);
  const Token token = first->token();
  first.reset();
  const auto lock = second.get();
  // Within kSoon, where the ttl is a minute: it was released.
  ASSERT_TRUE(lock.ok()) << lock.message();
  EXPECT_GT(lock->token(), token);
}

TEST_P(LockTest, ManyThreadsExcludeEachOther) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::mutex mutex;
  std::set<Token> tokens;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) {
        Lock lock = Lock::acquire(arbiter_, "m", lock_of(2s)).value();
        most = std::max(most.load(), ++inside);
        {
          const std::lock_guard guard(mutex);
          tokens.insert(lock.token());
        }
        --inside;
        EXPECT_TRUE(lock.unlock().ok());
      }
    });
  }
  threads.clear();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(tokens.size(), 12U);
}

TEST_P(LockTest, ASemaphoreHasAsManyHoldersAsPermits) {
  std::vector<Lock> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(Lock::acquire(arbiter_, "s", semaphore_of(3, 0s)).value());
  }
  EXPECT_TRUE(Lock::acquire(arbiter_, "s", semaphore_of(3, 0s)).is(Code::kTimeout));
  held.erase(held.begin() + 1);
  const auto fourth = Lock::acquire(arbiter_, "s", semaphore_of(3, 0s));
  EXPECT_TRUE(fourth.ok()) << fourth.message();
  for (const Lock& lock : held) EXPECT_TRUE(lock.held());
}

TEST_P(LockTest, ReadersShareALockAndAWriterIsAlone) {
  std::optional<Lock> one = Lock::acquire(arbiter_, "rw", shared_of(true)).value();
  std::optional<Lock> two = Lock::acquire(arbiter_, "rw", shared_of(true, 0s)).value();
  EXPECT_TRUE(Lock::acquire(arbiter_, "rw", shared_of(false, 0s)).is(Code::kTimeout));
  auto writer = std::async(std::launch::async,
                           [&] { return Lock::acquire(arbiter_, "rw", shared_of(false)); });
  // Once it waits, no reader comes any more.
  bool barred = false;
  for (int looks = 0; looks < 1000 && !barred; ++looks) {
    barred = !Lock::acquire(arbiter_, "rw", shared_of(true, 0s));
  }
  EXPECT_TRUE(barred);
  one.reset();
  two.reset();
  Lock writes = writer.get().value();
  EXPECT_TRUE(writes.held());
  EXPECT_TRUE(Lock::acquire(arbiter_, "rw", shared_of(true, 0s)).is(Code::kTimeout));
  EXPECT_TRUE(Lock::acquire(arbiter_, "rw", shared_of(false, 0s)).is(Code::kTimeout));
  const Token token = writes.token();
  EXPECT_TRUE(writes.unlock().ok());
  EXPECT_GT(Lock::acquire(arbiter_, "rw", shared_of(false)).value().token(), token);
  EXPECT_TRUE(Lock::acquire(arbiter_, "rw", shared_of(true)).ok());
}

TEST_P(LockTest, ALockOfAnotherShapeIsRefusedByItsNumbers) {
  { const Lock lock = Lock::acquire(arbiter_, "s", semaphore_of(3)).value(); }
  const auto other = Lock::acquire(arbiter_, "s", semaphore_of(5));
  ASSERT_TRUE(other.is(Code::kInvalid)) << other.message();
  EXPECT_EQ(other.message(),
            "the lock s is a semaphore with 3 permits in the store, and this process wants a "
            "semaphore with 5 permits");
  EXPECT_TRUE(Lock::acquire(arbiter_, "s", lock_of()).is(Code::kInvalid));
  EXPECT_TRUE(Lock::acquire(arbiter_, "s", shared_of(true)).is(Code::kInvalid));
  EXPECT_TRUE(Lock::acquire(arbiter_, "s", semaphore_of(3)).ok());
}

TEST_P(LockTest, AWaitEndsAfterItsTimeOrWhenItIsStopped) {
  const Lock lock = Lock::acquire(arbiter_, "m", lock_of()).value();
  EXPECT_TRUE(Lock::acquire(arbiter_, "m", lock_of(1s, 300ms)).is(Code::kTimeout));
  std::stop_source stop;
  LockOptions options = lock_of(1s, muster::Duration::max());
  options.stop = stop.get_token();
  auto waits =
      std::async(std::launch::async, [&] { return Lock::acquire(arbiter_, "m", options); });
  EXPECT_EQ(waits.wait_for(200ms), std::future_status::timeout);
  stop.request_stop();
  EXPECT_TRUE(waits.get().is(Code::kCancelled));
  EXPECT_TRUE(Lock::acquire(arbiter_, "m", options).is(Code::kCancelled));
  EXPECT_TRUE(lock.held());
}

TEST_P(LockTest, AnElectionOfTheSameNameIsAnotherThing) {
  Leadership leads = Leadership::stand(arbiter_, "both", options_of("me")).value();
  const Term term = leads.wait({}, kSoon).value();
  const auto lock = Lock::acquire(arbiter_, "both", lock_of(60s, kSoon));
  EXPECT_TRUE(lock.ok()) << lock.message();
  EXPECT_TRUE(term.valid());
}

TEST_P(LockTest, ALockThatIsMovedIsHeldByItsNewHandle) {
  Lock lock = Lock::acquire(arbiter_, "m", lock_of()).value();
  Lock moved = std::move(lock);
  EXPECT_TRUE(moved.held());
  EXPECT_FALSE(lock.held());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(lock.token(), 0U);
  EXPECT_TRUE(lock.unlock().ok());
  moved = Lock::acquire(arbiter_, "other", lock_of()).value();
  EXPECT_TRUE(Lock::acquire(arbiter_, "m", lock_of(60s, 0s)).ok());
}

TEST_P(LockTest, AHandleMayOutliveItsArbiter) {
  std::optional<Arbiter> arbiter(arbiter_);
  Lock lock = Lock::acquire(*arbiter, "m", lock_of()).value();
  arbiter.reset();
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(lock.unlock().ok());
}

TEST(PublicLockTest, RefusesWhatCannotWork) {
  const Arbiter arbiter = Arbiter::open("memory:").value();
  EXPECT_TRUE(Lock::acquire(arbiter, "a name with spaces", lock_of()).is(Code::kInvalid));
  EXPECT_TRUE(Lock::acquire(arbiter, "m", lock_of(99ms)).is(Code::kInvalid));
  EXPECT_TRUE(Lock::acquire(arbiter, "m", lock_of(25h)).is(Code::kInvalid));
  const auto many = Lock::acquire(arbiter, "m", semaphore_of(65));
  ASSERT_TRUE(many.is(Code::kInvalid));
  EXPECT_EQ(many.message(), "the permits of a lock must be between 1 and 64");
}

TEST(PublicLockTest, AnUnreachableStoreIsATimeoutThatSaysSo) {
  const Arbiter arbiter = Arbiter::open("etcd://127.0.0.1:1/app").value();
  const auto lock = Lock::acquire(arbiter, "m", lock_of(1s, 300ms));
  ASSERT_TRUE(lock.is(Code::kTimeout)) << lock.message();
  EXPECT_NE(lock.message().find("127.0.0.1:1"), std::string::npos) << lock.message();
}

/// Processes that share a directory, one of which fails.
class LockProcessTest : public ::testing::Test {
 protected:
  static Token token_of(const std::string& line) {
    EXPECT_TRUE(line.starts_with("held ")) << line;
    return line.starts_with("held ") ? std::stoull(line.substr(5)) : 0;
  }
  muster::ChildProcess child(const char* ttl) const {
    return muster::ChildProcess({MUSTER_API_LOCKER, url_of(dir_), "m", ttl});
  }

  TempDir dir_;
  Arbiter arbiter_ = Arbiter::open(url_of(dir_)).value();
};

TEST_F(LockProcessTest, ALockOfAProcessThatWasKilledIsTakenAfterItsTtl) {
  muster::ChildProcess holder = child("2000");
  const Token token = token_of(holder.read_line());
  EXPECT_TRUE(Lock::acquire(arbiter_, "m", lock_of(60s, 500ms)).is(Code::kTimeout));
  holder.kill();
  const auto lock = Lock::acquire(arbiter_, "m", lock_of(60s, kSoon));
  ASSERT_TRUE(lock.ok()) << lock.message();
  EXPECT_GT(lock->token(), token);
}

TEST_F(LockProcessTest, ShortAttemptsAddUpToTheTtlOfAProcessThatWasKilled) {
  muster::ChildProcess holder = child("2000");
  const Token token = token_of(holder.read_line());
  holder.kill();
  auto lock = Lock::acquire(arbiter_, "m", lock_of(60s, 200ms));
  for (int tries = 1; tries < 100 && lock.is(Code::kTimeout); ++tries) {
    lock = Lock::acquire(arbiter_, "m", lock_of(60s, 200ms));
  }
  ASSERT_TRUE(lock.ok()) << lock.message();
  EXPECT_GT(lock->token(), token);
}

TEST_F(LockProcessTest, AProcessThatEndsCleanlyUnlocks) {
  muster::ChildProcess holder = child("60000");
  const Token token = token_of(holder.read_line());
  EXPECT_EQ(holder.finish(), 0);
  const auto lock = Lock::acquire(arbiter_, "m", lock_of(60s, 0s));
  ASSERT_TRUE(lock.ok()) << lock.message();
  EXPECT_EQ(lock->token(), token + 1);
}

// Not in a directory: a process that is stopped in the middle of a write blocks all writers there.
TEST_F(LockProcessTest, AFrozenHolderIsToldThatItLostTheLock) {
  EtcdCluster etcd;
  const Arbiter arbiter = Arbiter::open(etcd.url("app")).value();
  muster::ChildProcess holder({MUSTER_API_LOCKER, etcd.url("app"), "m", "2000"});
  const Token token = token_of(holder.read_line());
  ::kill(holder.pid(), SIGSTOP);
  const auto lock = Lock::acquire(arbiter, "m", lock_of(60s, kSoon));
  ::kill(holder.pid(), SIGCONT);
  ASSERT_TRUE(lock.ok()) << lock.message();
  EXPECT_GT(lock->token(), token);
  EXPECT_EQ(holder.read_line(), "lost");
  // Its unlock() says that the lock had been lost.
  EXPECT_EQ(holder.finish(), 2);
  EXPECT_TRUE(lock->held());
}

TEST(PublicLockTest, ALostLockIsReportedOnceAndItsHandleMayGoInTheCallback) {
  EtcdCluster etcd;
  const Arbiter arbiter = Arbiter::open(etcd.url("app")).value();
  Heard<Code> heard;
  std::optional<Lock> lock;
  LockOptions options = lock_of(2s);
  options.on_lost = [&](const muster::Error& why) {
    EXPECT_FALSE(lock->held());
    EXPECT_TRUE(lock->unlock().is(Code::kInvalid));
    EXPECT_TRUE(Lock::acquire(arbiter, "m", lock_of()).is(Code::kInvalid));
    lock.reset();
    heard.add(why.code);
  };
  lock = Lock::acquire(arbiter, "m", options).value();
  etcd.stop(0);
  EXPECT_TRUE(heard.wait_for([](Code code) { return code == Code::kUnavailable; }));
  etcd.cont(0);
  // The handle is gone, and what it held has expired or been released.
  EXPECT_TRUE(Lock::acquire(arbiter, "m", lock_of(2s)).ok());
  EXPECT_EQ(heard.all().size(), 1U);
}

TEST(PublicLockTest, UnlockTellsThatTheStoreHasNotConfirmed) {
  EtcdCluster etcd;
  const Arbiter arbiter = Arbiter::open(etcd.url("app")).value();
  Lock lock = Lock::acquire(arbiter, "m", lock_of(5s)).value();
  etcd.stop(0);
  const auto unlocked = lock.unlock();
  EXPECT_TRUE(unlocked.is(Code::kAmbiguous)) << unlocked.message();
  EXPECT_FALSE(lock.held());
  etcd.cont(0);
  EXPECT_TRUE(Lock::acquire(arbiter, "m", lock_of(5s)).ok());
}

}  // namespace
}  // namespace api_test
