#include "client/rpc_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "platform/system_clock.h"
#include "rpc/server.h"

namespace muster::client {
namespace rpc_transport_test {

using ::testing::HasSubstr;

struct Answer {
  RpcStatus status;
  std::string body;
};

/// A server of our own on a thread of its own; what it does with a call is the test's.
class TestServer {
 public:
  explicit TestServer(std::function<void(const rpc::CallPtr&)> on_call,
                      const std::string& host = "127.0.0.1", const std::string& id = "s1") {
    thread_.run([&] {
      server_.emplace(thread_.loop(), rpc::ServerOptions{.host = host, .id = id},
                      std::move(on_call));
      port_ = server_->start().value();
    });
  }
  ~TestServer() {
    thread_.run([this] { server_.reset(); });
  }
  [[nodiscard]] std::string at(const std::string& host) const {
    return host + ":" + std::to_string(port_);
  }

 private:
  LoopThread thread_;
  std::optional<rpc::Server> server_;
  std::uint16_t port_ = 0;
};

class RpcTransportTest : public ::testing::Test {
 protected:
  ~RpcTransportTest() override {
    transport_->thread().run([this] {
      call_.reset();
      connection_.reset();
    });
  }
  Answer ask(const std::string& server, Duration within = 10s) {
    std::promise<Answer> answer;
    transport_->thread().run([&] {
      connection_ = transport_->connect(server);
      call_ = connection_->unary("/a.B/C", "question", boot_now() + within,
                                 [&](const RpcStatus& status, std::string body) {
                                   answer.set_value({status, std::move(body)});
                                 });
    });
    return answer.get_future().get();
  }

  std::unique_ptr<RpcTransport> transport_ = RpcTransport::open({}).value();
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Call> call_;
};

void echo(const rpc::CallPtr& call) {
  call->read([call](std::optional<std::string> bytes) {
    call->reply(rpc::payload("re: " + std::move(bytes).value_or("")));
  });
}

TEST_F(RpcTransportTest, NamesAddressesAndBracketsLeadToTheServer) {
  const TestServer server(echo);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const Answer answer = ask(server.at(host));
    EXPECT_TRUE(answer.status.ok()) << answer.status.message;
    EXPECT_EQ(answer.body, "re: question");
  }
  const TestServer six(echo, "::1");
  EXPECT_TRUE(ask(six.at("[::1]")).status.ok());
}

TEST_F(RpcTransportTest, EveryCallHasANameOfItsOwn) {
  std::vector<std::string> names;
  const TestServer server([&](const rpc::CallPtr& call) {
    names.push_back(call->metadata(rpc::kRequestIdKey));
    echo(call);
  });
  EXPECT_TRUE(ask(server.at("127.0.0.1")).status.ok());
  EXPECT_TRUE(ask(server.at("127.0.0.1")).status.ok());
  ASSERT_EQ(names.size(), 2U);
  EXPECT_TRUE(names[0].ends_with("-1")) << names[0];
  EXPECT_TRUE(names[1].ends_with("-2")) << names[1];
  EXPECT_EQ(names[0].substr(0, names[0].size() - 2), names[1].substr(0, names[1].size() - 2));
}

TEST_F(RpcTransportTest, ARefusalCarriesWhatTheServerTellsBesideIt) {
  const TestServer server([](const rpc::CallPtr& call) {
    call->finish({.code = rpc::Code::kFailedPrecondition,
                  .message = "not me",
                  .leader_address = "there:9000",
                  .replaced = true});
  });
  const RpcStatus status = ask(server.at("127.0.0.1")).status;
  EXPECT_EQ(status.code, RpcCode::kFailedPrecondition);
  EXPECT_EQ(status.message, "not me");
  EXPECT_EQ(status.reach, Reach::kAnswered);
  EXPECT_EQ(status.leader_address, "there:9000");
  EXPECT_TRUE(status.replaced);
}

// A proxy answers UNAVAILABLE, too, and names no server.
TEST_F(RpcTransportTest, OnlyAServerThatNamesItselfIsBelievedThatNothingWasDone) {
  const auto refuse = [](const rpc::CallPtr& call) {
    call->finish({.code = rpc::Code::kUnavailable, .message = "not now"});
  };
  const TestServer server(refuse);
  EXPECT_EQ(ask(server.at("127.0.0.1")).status.reach, Reach::kAnswered);
  const TestServer proxy(refuse, "127.0.0.1", "");
  EXPECT_EQ(ask(proxy.at("127.0.0.1")).status.reach, Reach::kSent);
}

TEST_F(RpcTransportTest, ACallThatLeftAndWasNotAnsweredMayHaveBeenDone) {
  const TestServer server([](const rpc::CallPtr& call) { call->on_over([call] {}); });
  const RpcStatus late = ask(server.at("127.0.0.1"), 50ms).status;
  EXPECT_EQ(late.code, RpcCode::kDeadlineExceeded);
  EXPECT_EQ(late.reach, Reach::kSent);
  const TestServer rude([](const rpc::CallPtr& call) { call->cut(); });
  EXPECT_EQ(ask(rude.at("127.0.0.1")).status.reach, Reach::kSent);
}

// A leader's address comes from a server, which may be wrong.
TEST_F(RpcTransportTest, AnAddressThatIsNoneIsNotReached) {
  for (const char* wrong : {"", ":", "host", "127.0.0.1:99999", "[::1", "127.0.0.1:http"}) {
    const RpcStatus status = ask(wrong).status;
    EXPECT_EQ(status.reach, Reach::kUnsent) << wrong;
    EXPECT_EQ(status.code, RpcCode::kUnavailable) << wrong;
  }
}

TEST_F(RpcTransportTest, AnAnswerMayBeAsLongAsAHugeTopology) {
  constexpr std::size_t kBytes = 100 << 20;
  const TestServer server(
      [](const rpc::CallPtr& call) { call->reply(rpc::payload(std::string(kBytes, 'x'))); });
  const Answer answer = ask(server.at("127.0.0.1"), 60s);
  EXPECT_TRUE(answer.status.ok()) << answer.status.message;
  EXPECT_EQ(answer.body.size(), kBytes);
}

TEST_F(RpcTransportTest, FilesThatCannotBeUsedAreToldAtOnce) {
  const auto opened = RpcTransport::open({.ca = "/no/such/file"});
  ASSERT_TRUE(opened.is(Errc::kInvalid));
  EXPECT_THAT(opened.error().message, HasSubstr("/no/such/file"));
}

TEST_F(RpcTransportTest, WhatWasPostedAndHasNotRunIsDroppedWithTheLoop) {
  std::atomic<int> ran = 0;
  auto held = std::make_shared<int>(0);
  auto transport = RpcTransport::open({}).value();
  EXPECT_FALSE(transport->thread().on_thread());
  EventLoop& loop = transport->loop();
  transport->thread().run([&] {
    EXPECT_TRUE(transport->thread().on_thread());
    loop.at(boot_now() + 1h, [held] { FAIL(); });
  });
  std::function<void()> for_ever = [&, held] {
    ++ran;
    loop.post(for_ever);
  };
  loop.post(for_ever);
  transport.reset();
  for_ever = {};
  EXPECT_EQ(held.use_count(), 1) << "nothing is kept";
  EXPECT_GT(ran, 0);
}

}  // namespace rpc_transport_test
}  // namespace muster::client
