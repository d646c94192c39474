#include "server/gateway/call_desk.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/world.h"

namespace muster::server {
namespace call_desk_test {

/// A desk whose calls wait for the test to answer them.
class CallDeskTest : public ::testing::Test {
 protected:
  CallDeskTest() {
    desk_.emplace(loop_, [this](const rpc::CallPtr& call) { calls_.push_back(call); });
    desk_->connect({[this](CallDesk::CallId id, const rpc::Payload& message) {
                      heard_.push_back(std::to_string(id) + ":" + *message);
                    },
                    [this](CallDesk::CallId id, const rpc::RpcStatus& status) {
                      heard_.push_back(std::to_string(id) + ":" + to_string(status.code));
                    }});
  }
  rpc::CallPtr begin(CallDesk::CallId id, Duration patience = 0s) {
    desk_->begin(id, {"/muster.v1.StoreService/Get", "asked", "PEM", "10.0.0.9", "r7", patience});
    return calls_.back();
  }
  void pass(Duration time) { world_.run(world_.now() + time); }

  sim::World world_{1};
  sim::Process loop_{world_, 1.0, 0s};
  std::optional<CallDesk> desk_;
  std::vector<rpc::CallPtr> calls_;
  std::vector<std::string> heard_;
};

TEST_F(CallDeskTest, AServiceSeesTheClientAndNothingThatServersTellEachOther) {
  const auto call = begin(1, 5s);
  EXPECT_EQ(call->method(), "/muster.v1.StoreService/Get");
  EXPECT_EQ(call->certificate(), "PEM");
  EXPECT_EQ(call->remote(), "10.0.0.9");
  EXPECT_EQ(call->metadata(rpc::kRequestIdKey), "r7");
  EXPECT_EQ(call->metadata(rpc::kCallerKey), "");
  EXPECT_FALSE(call->forwarded());
  EXPECT_EQ(call->time_left(), 5s);
  std::vector<std::optional<std::string>> read;
  const auto note = [&](std::optional<std::string> message) { read.push_back(std::move(message)); };
  call->read_single(note);
  call->read(note);
  EXPECT_EQ(read, (std::vector<std::optional<std::string>>{"asked", {}}));
}

TEST_F(CallDeskTest, AnAnswerComesBeforeItsEndAndTheCallIsGone) {
  const auto call = begin(3);
  std::string order;
  call->on_ended(
      [&](const rpc::RpcStatus& status) { order += status.ok() ? "ended " : "failed "; });
  call->on_gone([&] { order += "gone "; });
  call->on_over([&] { order += "over"; });
  call->reply(rpc::payload("answer"));
  EXPECT_EQ(heard_, (std::vector<std::string>{"3:answer", "3:OK"}));
  EXPECT_EQ(order, "ended gone over");
  EXPECT_TRUE(call->over());
  EXPECT_EQ(desk_->calls(), 0U);
  call->finish({rpc::Code::kInternal, "again", {}});
  EXPECT_EQ(heard_.size(), 2U);
}

TEST_F(CallDeskTest, TheNextMessageWaitsUntilTheLastOneWasTaken) {
  const auto call = begin(1);
  int taken = 0;
  call->write(rpc::payload("a"), [&] { ++taken; });
  EXPECT_EQ(taken, 0);
  desk_->take(1);
  EXPECT_EQ(taken, 1);
  desk_->take(1);
  EXPECT_EQ(taken, 1);
}

TEST_F(CallDeskTest, ACallThatNobodyAnswersEndsInTimeAndAWatchDoesNot) {
  begin(1, 5s);
  const auto watch = begin(2);
  pass(6s);
  EXPECT_EQ(heard_, (std::vector<std::string>{"1:DEADLINE_EXCEEDED"}));
  EXPECT_FALSE(watch->over());
  EXPECT_GT(watch->time_left(), 1min);
}

TEST_F(CallDeskTest, AClientThatHasGoneEndsItsCallAndHearsNothing) {
  const auto call = begin(1);
  std::optional<rpc::Code> ended;
  call->on_ended([&](const rpc::RpcStatus& status) { ended = status.code; });
  desk_->cancel(1);
  desk_->cancel(1);
  EXPECT_EQ(ended, rpc::Code::kCancelled);
  call->reply(rpc::payload("late"));
  EXPECT_TRUE(heard_.empty());
}

TEST_F(CallDeskTest, AServiceMayHoldACallLongerThanTheDeskLives) {
  const auto call = begin(1, 5s);
  bool over = false;
  call->on_over([&] { over = true; });
  desk_.reset();
  EXPECT_TRUE(over);
  call->write(rpc::payload("late"), {});
  call->finish({});
  pass(6s);
  EXPECT_TRUE(heard_.empty());
}

TEST_F(CallDeskTest, DrainingWaitsForTheAnswersAndNotForEver) {
  const auto call = begin(1);
  begin(2);
  int drained = 0;
  desk_->drain(2s, [&] { ++drained; });
  call->reply(rpc::payload("a"));
  pass(1s);
  EXPECT_EQ(drained, 0);
  calls_.back()->reply(rpc::payload("b"));
  pass(1ms);
  EXPECT_EQ(drained, 1);
  begin(3);
  desk_->drain(2s, [&] { ++drained; });
  pass(3s);
  EXPECT_EQ(drained, 2);
}

}  // namespace call_desk_test
}  // namespace muster::server
