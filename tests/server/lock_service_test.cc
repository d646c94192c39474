// Locks by RPC: clients of real servers, which die, beside the locks of the C++ library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "tests/server/library_lock.h"
#include "tests/server/lock_client.h"

namespace muster::testing {
namespace lock_service_test {

using grpc::StatusCode;
using ::testing::HasSubstr;

class LockServiceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    servers_ = std::make_unique<Servers>();
    ASSERT_NE(leader_of(servers_->all()), nullptr);
  }
  static void TearDownTestSuite() { servers_.reset(); }
  void SetUp() override {
    for (Musterd* server : all()) server->start();
    ASSERT_NE(leader_of(all()), nullptr);
  }

  static Servers& servers() { return *servers_; }
  static std::vector<Musterd*> all() { return servers_->all(); }
  LockClient client(int first, const std::string& session = {}) {
    return {servers(), name_, first, session};
  }
  v1::GetLockResponse look(int server = 0) {
    v1::GetLockRequest request;
    request.set_name(name_);
    v1::GetLockResponse response;
    Context context;
    const grpc::Status status = v1::LockService::NewStub(servers().at(server).channel())
                                    ->GetLock(&context, request, &response);
    EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::NOT_FOUND)
        << status.error_message();
    return response;
  }
  bool waiting(int count) {
    return eventually([&] { return look().waiters_size() == count; });
  }
  static bool settled(const std::atomic<bool>& done, Duration limit) {
    return eventually([&] { return done.load(); }, limit);
  }

  const std::string name_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  static std::unique_ptr<Servers> servers_;
};
std::unique_ptr<Servers> LockServiceTest::servers_;

TEST_F(LockServiceTest, ClientsAndTheLibraryExcludeEachOther) {
  std::atomic<int> inside = 0;
  Mutex mutex;
  std::uint64_t last = 0;
  const auto work = [&](std::uint64_t token) {
    EXPECT_EQ(++inside, 1);
    {
      const MutexLock lock(mutex);
      EXPECT_GT(token, last);
      last = token;
    }
    let_pass(5ms);
    --inside;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        LockClient each = client(i);
        const grpc::Status taken = each.acquire({});
        ASSERT_TRUE(taken.ok()) << taken.error_message();
        work(each.token());
        EXPECT_TRUE(each.held());
        EXPECT_TRUE(each.release().ok());
      }
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back(
        [&] { EXPECT_EQ(library_lock::take(servers().url(), name_, 5, work), ""); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(last, 25U);
}

TEST_F(LockServiceTest, TenThatWaitAreServedInTheOrderInWhichTheyCame) {
  LockClient first = client(0);
  ASSERT_TRUE(first.acquire({}).ok());
  Mutex mutex;
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&, i] {
      LockClient each = client(i);
      const grpc::Status taken = each.acquire({.ttl = 10s});
      ASSERT_TRUE(taken.ok()) << taken.error_message();
      {
        const MutexLock lock(mutex);
        order.push_back(i);
      }
      EXPECT_TRUE(each.release().ok());
    });
    ASSERT_TRUE(waiting(i + 1));
  }
  // Longer than a call waits: all of them ask again, and keep their places.
  let_pass(6s);
  EXPECT_EQ(look().waiters_size(), 10);
  ASSERT_TRUE(first.release().ok());
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(LockServiceTest, TheNextOneFollowsAtOnceAfterARelease) {
  LockClient first = client(1);
  ASSERT_TRUE(first.acquire({}).ok());
  std::atomic<bool> done = false;
  LockClient second = client(2);
  std::thread waits([&] {
    EXPECT_TRUE(second.acquire({}).ok());
    done = true;
  });
  ASSERT_TRUE(waiting(1));
  EXPECT_FALSE(done);
  bool confirmed = false;
  ASSERT_TRUE(first.release(&confirmed).ok());
  EXPECT_TRUE(confirmed);
  EXPECT_TRUE(settled(done, 2s)) << "where the ttl is a minute";
  waits.join();
  EXPECT_GT(second.token(), first.token());
  EXPECT_TRUE(second.release().ok());
}

TEST_F(LockServiceTest, ALockOutlivesTheLeaderAndKeepsItsToken) {
  LockClient holder = client(0);
  ASSERT_TRUE(holder.acquire({.ttl = 20s}).ok());
  const std::uint64_t token = holder.token();
  for (int i = 0; i < 2; ++i) {
    Musterd* leader = leader_of(all());
    ASSERT_NE(leader, nullptr);
    leader->kill();
    const grpc::Status renewed = holder.renew();
    ASSERT_TRUE(renewed.ok()) << renewed.error_message();
    EXPECT_TRUE(holder.held());
    // The client does not know that it has the lock: its answer was lost.
    const grpc::Status again = holder.acquire({.ttl = 20s});
    ASSERT_TRUE(again.ok()) << again.error_message();
    EXPECT_EQ(holder.token(), token);
    LockClient other = client(1);
    const grpc::Status refused = other.acquire({.ttl = 20s, .wait = 0s});
    EXPECT_EQ(refused.error_code(), StatusCode::ABORTED) << refused.error_message();
    leader->start();
  }
  // A leader that knows nothing of the session gives back what it holds.
  Musterd* leader = leader_of(all());
  ASSERT_NE(leader, nullptr);
  leader->kill();
  bool confirmed = false;
  EXPECT_TRUE(holder.release(&confirmed).ok());
  EXPECT_TRUE(confirmed);
  LockClient next = client(2);
  ASSERT_TRUE(next.acquire({.ttl = 20s, .wait = 5s}).ok());
  EXPECT_GT(next.token(), token);
  leader->start();
  EXPECT_TRUE(next.release().ok());
}

TEST_F(LockServiceTest, TheNextOneFollowsAClientThatDiedAfterItsTtl) {
  LockClient dead = client(0);
  ASSERT_TRUE(dead.acquire({.ttl = 3s}).ok());
  const auto began = std::chrono::steady_clock::now();
  LockClient next = client(1);
  ASSERT_TRUE(next.acquire({.ttl = 3s}).ok());
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_FALSE(dead.held());
  EXPECT_GE(took, 2900ms);
  EXPECT_LE(took, 6s);
  EXPECT_EQ(dead.renew().error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(next.release().ok());
}

TEST_F(LockServiceTest, AHeadThatStopsAskingLosesItsPlace) {
  LockClient holder = client(0);
  ASSERT_TRUE(holder.acquire({}).ok());
  LockClient head = client(1);
  Context context;
  std::thread asks([&] {
    v1::LockAcquireResponse answer;
    EXPECT_EQ(head.ask({}, &answer, context).error_code(), StatusCode::CANCELLED);
  });
  ASSERT_TRUE(waiting(1));
  context.TryCancel();
  asks.join();
  std::atomic<bool> done = false;
  LockClient next = client(2);
  std::thread waits([&] {
    EXPECT_TRUE(next.acquire({}).ok());
    done = true;
  });
  ASSERT_TRUE(waiting(2));
  EXPECT_TRUE(waiting(1)) << "the place of the first is kept for a few seconds only";
  EXPECT_TRUE(holder.release().ok());
  EXPECT_TRUE(settled(done, 2s));
  waits.join();
  EXPECT_TRUE(next.release().ok());
}

TEST_F(LockServiceTest, AFreeLockIsKeptForTheHeadWhileItIsAboutToAskAgain) {
  LockClient holder = client(0);
  ASSERT_TRUE(holder.acquire({}).ok());
  // A server that forwards a call does not forward its end.
  const auto running = all();
  const auto leader = std::find(running.begin(), running.end(), leader_of(running));
  LockClient head = client(static_cast<int>(leader - running.begin()));
  Context context;
  std::thread asks([&] {
    v1::LockAcquireResponse answer;
    EXPECT_EQ(head.ask({.ttl = 1s}, &answer, context).error_code(), StatusCode::CANCELLED);
  });
  ASSERT_TRUE(waiting(1));
  std::atomic<bool> done = false;
  LockClient next = client(2);
  std::thread waits([&] {
    EXPECT_TRUE(next.acquire({}).ok());
    done = true;
  });
  ASSERT_TRUE(waiting(2));
  context.TryCancel();
  const auto left = std::chrono::steady_clock::now();
  asks.join();
  // The head does not campaign any more: a server takes nothing for a client that is silent.
  let_pass(600ms);
  EXPECT_TRUE(holder.release().ok());
  let_pass(300ms);
  const bool overtaken = done;
  const grpc::Status taken = head.acquire({.ttl = 1s});
  const bool in_time = std::chrono::steady_clock::now() - left < 2500ms;
  EXPECT_TRUE(taken.ok()) << taken.error_message();
  if (in_time) {
    EXPECT_FALSE(overtaken);
    EXPECT_FALSE(done);
  }
  static_cast<void>(head.release());
  EXPECT_TRUE(settled(done, 5s));
  waits.join();
  EXPECT_TRUE(next.release().ok());
}

TEST_F(LockServiceTest, ASemaphoreHasAsManyHoldersAsPermits) {
  const How of_three{.ttl = 20s, .wait = 0s, .permits = 3};
  std::vector<LockClient> holders;
  for (int i = 0; i < 3; ++i) {
    holders.push_back(client(i));
    const grpc::Status taken = holders.back().acquire(of_three);
    ASSERT_TRUE(taken.ok()) << taken.error_message();
  }
  LockClient fourth = client(0);
  EXPECT_EQ(fourth.acquire(of_three).error_code(), StatusCode::ABORTED);
  EXPECT_EQ(look(1).kind(), "semaphore");
  EXPECT_EQ(look(2).holders_size(), 3);
  EXPECT_TRUE(holders[1].renew().ok());
  EXPECT_TRUE(holders[1].release().ok());
  EXPECT_TRUE(fourth.acquire(of_three).ok());
  EXPECT_EQ(holders[1].renew().error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(fourth.release().ok());
  EXPECT_TRUE(holders[0].release().ok());
  EXPECT_TRUE(holders[2].release().ok());
  EXPECT_EQ(look().holders_size(), 0);
}

TEST_F(LockServiceTest, AWriterWaitsForReadersAndIsNotOvertakenByThem) {
  const How reads{.ttl = 20s, .permits = 3, .shared = true};
  const How writes{.ttl = 20s, .permits = 3, .shared = false};
  LockClient one = client(0);
  LockClient two = client(1);
  ASSERT_TRUE(one.acquire(reads).ok());
  ASSERT_TRUE(two.acquire(reads).ok());
  std::atomic<bool> written = false;
  std::atomic<bool> read = false;
  LockClient writer = client(2);
  LockClient late = client(0);
  std::thread writing([&] {
    EXPECT_TRUE(writer.acquire(writes).ok());
    written = true;
  });
  ASSERT_TRUE(waiting(1));
  std::thread reading([&] {
    EXPECT_TRUE(late.acquire(reads).ok());
    read = true;
  });
  ASSERT_TRUE(waiting(2));
  EXPECT_TRUE(one.release().ok());
  let_pass(1s);
  EXPECT_FALSE(written) << "a reader is left";
  EXPECT_FALSE(read) << "there is a permit, but a writer came first";
  EXPECT_TRUE(two.release().ok());
  EXPECT_TRUE(settled(written, 5s));
  EXPECT_FALSE(read);
  EXPECT_TRUE(writer.renew().ok());
  EXPECT_TRUE(writer.release().ok());
  EXPECT_TRUE(settled(read, 5s));
  writing.join();
  reading.join();
  EXPECT_TRUE(late.release().ok());
}

TEST_F(LockServiceTest, OfReadersAndWritersTheFirstThatCameIsServedAlone) {
  const How reads{.ttl = 20s, .permits = 3, .shared = true};
  const How writes{.ttl = 20s, .permits = 3, .shared = false};
  LockClient before = client(0);
  ASSERT_TRUE(before.acquire(writes).ok());
  std::vector<LockClient> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(client(i));
  std::atomic<bool> served[4] = {};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_TRUE(clients[i].acquire(i == 1 ? writes : reads).ok());
      served[i] = true;
    });
    ASSERT_TRUE(waiting(static_cast<int>(i) + 1));
  }
  ASSERT_TRUE(before.release().ok());
  ASSERT_TRUE(settled(served[0], 5s));
  let_pass(1s);
  EXPECT_FALSE(served[1]) << "a reader is left";
  EXPECT_FALSE(served[2]) << "a writer came before it";
  EXPECT_TRUE(clients[0].release().ok());
  ASSERT_TRUE(settled(served[1], 5s));
  EXPECT_FALSE(served[2]);
  EXPECT_TRUE(clients[1].release().ok());
  ASSERT_TRUE(settled(served[2], 5s));
  ASSERT_TRUE(settled(served[3], 5s)) << "beside the other reader";
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(clients[2].release().ok());
  EXPECT_TRUE(clients[3].release().ok());
}

TEST_F(LockServiceTest, RefusalsSayWhatIsWrong) {
  LockClient holder = client(0);
  v1::LockAcquireResponse answer;
  EXPECT_THAT(holder.ask({.ttl = 50ms}, &answer).error_message(), HasSubstr("ttl"));
  EXPECT_THAT(holder.ask({.permits = 65}, &answer).error_message(), HasSubstr("permits"));
  EXPECT_THAT(LockClient(servers(), "a/b", 0).ask({}, &answer).error_message(), HasSubstr("name"));
  EXPECT_THAT(client(0, "no session").ask({}, &answer).error_message(), HasSubstr("session"));
  EXPECT_THAT(holder.renew().error_message(), HasSubstr("handle"));

  ASSERT_TRUE(holder.acquire({}).ok());
  LockClient other = client(1);
  const grpc::Status held = other.acquire({.wait = 0s});
  EXPECT_EQ(held.error_code(), StatusCode::ABORTED);
  EXPECT_THAT(held.error_message(), HasSubstr("held by client-0"));
  const grpc::Status waited = other.acquire({.wait = 300ms});
  EXPECT_EQ(waited.error_code(), StatusCode::ABORTED);
  const grpc::Status shape = other.ask({.permits = 3}, &answer);
  EXPECT_EQ(shape.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(shape.error_message(), HasSubstr("is a mutex in the store"));
  EXPECT_EQ(other.release(nullptr, false).error_code(), StatusCode::NOT_FOUND);

  bool confirmed = false;
  EXPECT_TRUE(holder.release(&confirmed).ok());
  EXPECT_TRUE(holder.release(&confirmed).ok()) << "its answer may have been lost";
  EXPECT_TRUE(confirmed);
  EXPECT_EQ(holder.renew().error_code(), StatusCode::NOT_FOUND);
}

}  // namespace lock_service_test
}  // namespace muster::testing
