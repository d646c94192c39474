#include "server/rpc/loop_queue.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace muster::remote {
namespace loop_queue_test {

/// An operation of gRPC that is done at its time.
class Operation final : public Completion {
 public:
  Operation(LoopQueue& queue, Duration delay, std::function<void()> done) : done_(std::move(done)) {
    alarm_.Set(queue.queue(), gpr_time_from_nanos(delay.count(), GPR_TIMESPAN),
               static_cast<Completion*>(this));
  }
  void complete(bool) override { done_(); }

 private:
  std::function<void()> done_;
  grpc::Alarm alarm_;
};

class LoopQueueTest : public ::testing::Test {
 protected:
  EventLoop loop_;
  std::unique_ptr<LoopQueue> queue_ =
      std::make_unique<LoopQueue>(loop_, std::make_unique<grpc::CompletionQueue>());
};

TEST_F(LoopQueueTest, OperationsTimersAndTasksShareOneThread) {
  std::vector<std::thread::id> threads;
  const auto note = [&] {
    threads.push_back(std::this_thread::get_id());
    if (threads.size() == 3) loop_.stop();
  };
  Operation operation(*queue_, 2ms, note);
  Timer timer(loop_);
  timer.arm(1ms, note);
  std::thread other([&] { loop_.post(note); });
  loop_.run();
  other.join();
  EXPECT_EQ(threads, std::vector(3, std::this_thread::get_id()));
}

TEST_F(LoopQueueTest, WhatWaitsForTheLoopToSleepIsDoneOnceAndSoonWhereItDoesNot) {
  int done = 0;
  queue_->before_sleep([&] { ++done; });
  loop_.run_until(loop_.now() + 1ms);
  EXPECT_EQ(done, 1);
  loop_.run_until(loop_.now() + 1ms);
  EXPECT_EQ(done, 1);

  // There is always another operation that has ended, so that it never sleeps.
  int turns = 0;
  std::vector<std::unique_ptr<Operation>> over;
  std::function<void()> again = [&] {
    if (done == 2 || ++turns == 10'000) return loop_.stop();
    over.push_back(std::make_unique<Operation>(*queue_, Duration::zero(), again));
  };
  queue_->before_sleep([&] { ++done; });
  again();
  loop_.run();
  EXPECT_EQ(done, 2);
  EXPECT_LT(turns, 10'000);
}

TEST_F(LoopQueueTest, ALoopThatIsBusyHearsOfOperationsAllTheSame) {
  Timer busy(loop_);
  std::function<void()> again = [&] { busy.arm(Duration::zero(), again); };
  again();
  int left = 10;
  std::vector<std::unique_ptr<Operation>> operations;
  for (int i = 0; i < 10; ++i) {
    operations.push_back(std::make_unique<Operation>(*queue_, 1ms, [&] {
      if (--left == 0) loop_.stop();
    }));
  }
  EXPECT_TRUE(loop_.run_until(loop_.now() + 20s));
  EXPECT_EQ(left, 0);
}

TEST_F(LoopQueueTest, ItsEndWaitsForWhatIsUnderWay) {
  bool done = false;
  Operation operation(*queue_, 5ms, [&] { done = true; });
  queue_.reset();
  EXPECT_TRUE(done);
}

TEST_F(LoopQueueTest, AnOperationMayEndIt) {
  Operation operation(*queue_, 1ms, [this] {
    queue_.reset();
    loop_.stop();
  });
  loop_.run();
  EXPECT_EQ(queue_, nullptr);
}

}  // namespace loop_queue_test
}  // namespace muster::remote
