#include "server/rpc/rpc_server.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platform/event_loop.h"

namespace muster::rpc {
namespace {

/// A server, and another one that asks it, each with its loop, on this thread.
class RpcServerTest : public ::testing::Test {
 protected:
  static RpcServerOptions options(const std::string& id, std::size_t calls_max) {
    RpcServerOptions options;
    options.listen = "127.0.0.1:0";
    options.id = id;
    options.calls_max = calls_max;
    return options;
  }
  void SetUp() override {
    const auto port = server_.start();
    ASSERT_TRUE(port.ok());
    address_ = "127.0.0.1:" + std::to_string(*port);
    ASSERT_TRUE(asker_.start().ok());
  }
  void TearDown() override {
    held_.clear();
    asker_.close();
    server_.close();
  }
  bool until(const std::function<bool()>& holds) {
    const MonoTime end = loop_.now() + 20s;
    while (!holds() && loop_.now() < end) {
      loop_.run_until(loop_.now() + 1ms);
      askers_loop_.run_until(loop_.now() + 1ms);
    }
    return holds();
  }
  void ask() {
    asker_.call_peer(address_, "/any.Service/Method", "question", 20s,
                     [this](const RpcStatus& status, const std::string& answer) {
                       answers_.push_back({status.code, answer.size()});
                     });
  }

  struct Answer {
    Code code;
    std::size_t bytes;
  };
  EventLoop loop_;
  EventLoop askers_loop_;
  std::function<void(const CallPtr&)> on_call_ = [this](const CallPtr& call) {
    held_.push_back(call);
  };
  RpcServer server_{loop_, options("s1", 2), [this](const CallPtr& call) { on_call_(call); }};
  RpcServer asker_{askers_loop_, options("s2", 2), [](const CallPtr&) {}};
  std::string address_;
  std::vector<CallPtr> held_;
  std::vector<Answer> answers_;
};

TEST_F(RpcServerTest, RefusesMoreCallsThanItTakesAndTakesOthersAgain) {
  ask();
  ask();
  ASSERT_TRUE(until([this] { return held_.size() == 2; }));
  ask();
  ASSERT_TRUE(until([this] { return answers_.size() == 1; }));
  EXPECT_EQ(answers_[0].code, Code::kResourceExhausted);
  for (const CallPtr& call : held_) call->reply(payload("answer"));
  ASSERT_TRUE(until([this] { return answers_.size() == 3; }));
  EXPECT_EQ(answers_[2].code, Code::kOk);
  held_.clear();
  ask();
  ASSERT_TRUE(until([this] { return held_.size() == 1; }));
}

TEST_F(RpcServerTest, AnswersThatAreOnTheirWayArriveBeforeItCloses) {
  const std::size_t bytes = 1 << 20;
  bool drained = false;
  on_call_ = [&](const CallPtr& call) {
    call->reply(payload(std::string(bytes, 'x')));
    server_.drain(10s, [&] {
      drained = true;
      loop_.post([this] { server_.close(); });
    });
  };
  ask();
  ASSERT_TRUE(until([&] { return drained && answers_.size() == 1; }));
  EXPECT_EQ(answers_[0].code, Code::kOk);
  EXPECT_EQ(answers_[0].bytes, bytes);
}

TEST_F(RpcServerTest, ACallThatNobodyAnswersDoesNotHoldUpTheEnd) {
  ask();
  ASSERT_TRUE(until([this] { return held_.size() == 1; }));
  bool drained = false;
  server_.drain(10s, [&] { drained = true; });
  EXPECT_TRUE(drained);
}

}  // namespace
}  // namespace muster::rpc
