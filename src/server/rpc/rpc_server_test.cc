#include "server/rpc/rpc_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platform/event_loop.h"
#include "platform/testing/loopback.h"
#include "platform/unique_fd.h"

namespace muster::rpc {
namespace rpc_server_test {

/// A client that speaks just enough HTTP/2 to ask, and takes nothing of an answer but its head: it
/// allows the server not one byte.
class StubbornClient {
 public:
  explicit StubbornClient(int port) : fd_(testing::dial_loopback(port)) {
    send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, std::string("\0\4\0\0\0\0", 6)));
  }
  void ask() {
    std::string head;
    for (const auto& [name, value] : {std::pair<std::string, std::string>{":method", "POST"},
                                      {":scheme", "http"},
                                      {":path", "/any.Service/Method"},
                                      {":authority", "x"},
                                      {"te", "trailers"},
                                      {"content-type", "application/grpc"}}) {
      head += '\0';
      head += static_cast<char>(name.size());
      head += name;
      head += static_cast<char>(value.size());
      head += value;
    }
    send(frame(1, 4, 1, head) + frame(0, 1, 1, std::string(5, '\0')));
  }
  /// And takes it after all.
  void take() { send(frame(8, 0, 1, std::string("\0\1\0\0", 4))); }

 private:
  static std::string frame(char type, char flags, char stream, const std::string& content) {
    std::string bytes(2, '\0');
    bytes += static_cast<char>(content.size());
    bytes += type;
    bytes += flags;
    bytes += std::string(3, '\0');
    return bytes + stream + content;
  }
  void send(const std::string& bytes) {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  UniqueFd fd_;
};

/// A server, and another one that asks it, each with its loop, on this thread.
class RpcServerTest : public ::testing::Test {
 protected:
  RpcServerOptions options(const std::string& id, std::size_t calls_max) {
    RpcServerOptions options;
    options.call_refused = [this] { ++refused_; };
    options.listen = "127.0.0.1:0";
    options.id = id;
    options.calls_max = calls_max;
    return options;
  }
  void SetUp() override {
    const auto port = server_.start();
    ASSERT_TRUE(port.ok());
    port_ = *port;
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
  void ask(const std::string& method = "/any.Service/Method") {
    asker_.call_peer(address_, method, "question", 20s,
                     [this](const RpcStatus& status, const std::string& answer) {
                       answers_.push_back({status.code, answer.size(), status.retry_after});
                     });
  }

  struct Answer {
    Code code;
    std::size_t bytes;
    Duration retry_after;
  };
  int refused_ = 0;
  EventLoop loop_;
  EventLoop askers_loop_;
  std::function<void(const CallPtr&)> on_call_ = [this](const CallPtr& call) {
    held_.push_back(call);
  };
  RpcServer server_{loop_, options("s1", 2), [this](const CallPtr& call) { on_call_(call); }};
  RpcServer asker_{askers_loop_, options("s2", 2), [](const CallPtr&) {}};
  int port_ = 0;
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
  EXPECT_EQ(answers_[0].code, Code::kUnavailable);
  EXPECT_EQ(answers_[0].retry_after, 1s);
  EXPECT_EQ(refused_, 1);
  EXPECT_EQ(server_.calls(), 2u);
  EXPECT_EQ(server_.connections(), 1u);
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

TEST_F(RpcServerTest, ACallIsGoneWhenItsAnswerWasTakenAndNotBefore) {
  StubbornClient stubborn(port_);
  bool ended = false;
  bool gone = false;
  on_call_ = [&](const CallPtr& call) {
    call->on_ended([&](const RpcStatus& status) { ended = status.ok(); });
    call->on_gone([&] { gone = true; });
    call->reply(payload("answer"));
  };
  stubborn.ask();
  ASSERT_TRUE(until([&] { return ended; }));
  on_call_ = [](const CallPtr& call) { call->reply(payload("answer")); };
  // Others are answered meanwhile.
  for (std::size_t i = 1; i <= 10; ++i) {
    ask();
    ASSERT_TRUE(until([&] { return answers_.size() == i; }));
  }
  EXPECT_FALSE(gone);
  EXPECT_GE(server_.calls(), 1u);
  stubborn.take();
  EXPECT_TRUE(until([&] { return gone; }));
}

TEST_F(RpcServerTest, AnAnswerThatNobodyTakesIsDroppedInTheEnd) {
  EventLoop loop;
  RpcServerOptions impatient = options("s3", 2);
  impatient.taken_within = 100ms;
  bool gone = false;
  RpcServer server(loop, impatient, [&](const CallPtr& call) {
    call->on_gone([&] { gone = true; });
    call->reply(payload(std::string(1 << 20, 'x')));
  });
  const auto port = server.start();
  ASSERT_TRUE(port.ok());
  StubbornClient stubborn(*port);
  stubborn.ask();
  const MonoTime end = loop.now() + 20s;
  while (!gone && loop.now() < end) loop.run_until(loop.now() + 1ms);
  EXPECT_TRUE(gone);
  EXPECT_EQ(server.calls(), 0u);
}

TEST_F(RpcServerTest, EveryInterfaceIsReachedOverBothProtocols) {
  for (const char* listen : {":0", "*:0", "0.0.0.0:0", "[::]:0"}) {
    EventLoop loop;
    RpcServerOptions everywhere = options("s3", 2);
    everywhere.listen = listen;
    RpcServer server(loop, everywhere, [](const CallPtr&) {});
    const auto port = server.start();
    ASSERT_TRUE(port.ok()) << listen;
    const UniqueFd four = testing::dial_loopback(*port), six = testing::dial_loopback6(*port);
    const MonoTime end = loop.now() + 20s;
    while (server.connections() < 2 && loop.now() < end) loop.run_until(loop.now() + 1ms);
    EXPECT_EQ(server.connections(), 2u) << listen;
  }
}

// Its answer is not known, and a stream has none: both hear the server's word.
TEST_F(RpcServerTest, CallsThatNobodyAnswersDoNotHoldUpTheEndForLong) {
  ask("/muster.v1.StoreService/Put");
  ASSERT_TRUE(until([this] { return held_.size() == 1; }));
  ask("/muster.v1.StoreService/Watch");
  ASSERT_TRUE(until([this] { return held_.size() == 2; }));
  bool drained = false;
  server_.drain(100ms, [&] { drained = true; });
  ASSERT_TRUE(until([&] { return drained && answers_.size() == 2; }));
  EXPECT_EQ(answers_[0].code, Code::kUnavailable);
  EXPECT_EQ(answers_[1].code, Code::kUnknown);
}

}  // namespace rpc_server_test
}  // namespace muster::rpc
