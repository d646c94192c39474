#include "platform/http/http_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <iterator>
#include <optional>

#include "platform/event_loop.h"
#include "platform/testing/http_scene.h"
#include "platform/testing/scripted_http_server.h"

namespace muster {
namespace http_client_test {

using Server = ScriptedHttpServer;
using Fault = ScriptedHttpServer::Fault;

std::size_t thread_count() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

using HttpClientTest = ::muster::testing::HttpScene;

TEST_F(HttpClientTest, SendsMethodPathHeadersAndBodyAsGiven) {
  Server server([](const Server::Request&) {
    return Server::Reply{201, "stored", {{"X-Answer", " yes "}}};
  });
  HttpRequest put = request(server.url() + "/a/../b%2Fc?x=%3D");
  put.method = "PUT";
  put.headers = {{"X-One", "1"}};
  put.body = std::string("zero\0byte", 9);
  const auto answer = send(put).get();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "stored");
  EXPECT_EQ(answer->header("x-answer"), "yes");
  EXPECT_EQ(answer->header("x-other"), "");
  const auto seen = server.requests().at(0);
  EXPECT_EQ(seen.method, "PUT");
  EXPECT_EQ(seen.target, "/a/../b%2Fc?x=%3D");
  EXPECT_EQ(seen.header("x-one"), "1");
  EXPECT_EQ(seen.body, put.body);
  EXPECT_FALSE(seen.headers.contains("expect"));
  EXPECT_FALSE(seen.headers.contains("content-type"));
}

TEST_F(HttpClientTest, AnEmptyPutSaysItsLengthAndADeleteHasNoBody) {
  Server server([](const Server::Request&) { return Server::Reply{204, ""}; });
  HttpRequest r = request(server.url() + "/x");
  r.method = "PUT";
  EXPECT_EQ(send(r).get()->status, 204);
  r.method = "DELETE";
  EXPECT_EQ(send(r).get()->status, 204);
  EXPECT_EQ(server.requests().at(0).header("content-length"), "0");
  EXPECT_FALSE(server.requests().at(1).headers.contains("content-length"));
}

TEST_F(HttpClientTest, UsesOneConnectionForRequestsThatFollowEachOther) {
  Server server([](const Server::Request&) { return Server::Reply{}; });
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(send(request(server.url() + "/")).get().ok());
  EXPECT_EQ(server.connection_count(), 1u);
}

TEST_F(HttpClientTest, DoesNotFollowRedirects) {
  Server server([](const Server::Request&) {
    return Server::Reply{301, "", {{"Location", "/elsewhere"}}};
  });
  EXPECT_EQ(send(request(server.url() + "/")).get()->status, 301);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpClientTest, ARefusedConnectionWasCertainlyNotSent) {
  std::string url;
  {
    Server gone([](const Server::Request&) { return Server::Reply{}; });
    url = gone.url();
  }
  EXPECT_TRUE(send(request(url + "/")).get().is(Errc::kUnavailable));
}

TEST_F(HttpClientTest, AFailedHandshakeWasCertainlyNotSent) {
  Server plain([](const Server::Request&) { return Server::Reply{}; });
  const auto answer = send(request("https" + plain.url().substr(4) + "/secret-path")).get();
  ASSERT_TRUE(answer.is(Errc::kUnavailable));
  EXPECT_EQ(answer.error().message.find("secret-path"), std::string::npos);
}

TEST_F(HttpClientTest, AConnectionClosedWithoutAnAnswerMayHaveBeenSent) {
  Server server([](const Server::Request&) { return Server::Reply{.fault = Fault::kClose}; });
  EXPECT_TRUE(send(request(server.url() + "/")).get().is(Errc::kAmbiguous));
}

TEST_F(HttpClientTest, ARefusalIsToldOnlyWhereTlsItselfSaysSo) {
  Server server([](const Server::Request&) { return Server::Reply{.fault = Fault::kClose}; });
  HttpRequest asked = request(server.url() + "/");
  asked.tell_refusals = true;
  EXPECT_TRUE(send(asked).get().is(Errc::kAmbiguous)) << "it may have any reason";
  asked = request("https" + server.url().substr(4) + "/secret-path");
  asked.tell_refusals = true;
  EXPECT_FALSE(send(asked).get().ok());
  make_client({.ca_file = "/nonexistent"});
  const auto answer = send(asked).get();
  ASSERT_TRUE(answer.is(Errc::kDenied)) << answer.error().message;
  EXPECT_EQ(answer.error().message.find("secret-path"), std::string::npos);
}

TEST_F(HttpClientTest, ATruncatedBodyIsNoAnswer) {
  Server server([](const Server::Request&) {
    return Server::Reply{200, "0123456789", {}, Fault::kCutBody};
  });
  EXPECT_TRUE(send(request(server.url() + "/")).get().is(Errc::kAmbiguous));
}

TEST_F(HttpClientTest, AHungServerEndsAtTheDeadlineAsMaybeSent) {
  Server server([](const Server::Request&) { return Server::Reply{.fault = Fault::kHang}; });
  const MonoTime start = thread_.loop().now();
  EXPECT_TRUE(send(request(server.url() + "/", 500ms)).get().is(Errc::kAmbiguous));
  EXPECT_GE(thread_.loop().now() - start, 500ms);
  EXPECT_LT(thread_.loop().now() - start, 5s);
}

TEST_F(HttpClientTest, ADeadlineThatHasPassedSendsNothing) {
  Server server([](const Server::Request&) { return Server::Reply{}; });
  EXPECT_TRUE(send(request(server.url() + "/", -1ms)).get().is(Errc::kUnavailable));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpClientTest, AnAnswerOverTheLimitIsRefused) {
  Server server([](const Server::Request&) { return Server::Reply{.body = "0123456789"}; });
  HttpRequest r = request(server.url() + "/");
  r.answer_bytes_max = 9;
  EXPECT_TRUE(send(r).get().is(Errc::kCorrupt));
  r.answer_bytes_max = 10;
  EXPECT_TRUE(send(r).get().ok());
}

// P01: a transport that resends a write turns its own success into a lost race.
TEST_F(HttpClientTest, AWriteOnABrokenReusedConnectionIsNotSentAgain) {
  int count = 0;
  Server server([&](const Server::Request&) {
    return Server::Reply{.fault = ++count == 2 ? Fault::kClose : Fault::kNone};
  });
  HttpRequest write = request(server.url() + "/");
  write.method = "PUT";
  write.once = true;
  ASSERT_TRUE(send(write).get().ok());
  EXPECT_TRUE(send(write).get().is(Errc::kAmbiguous));
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(HttpClientTest, AReadOnABrokenReusedConnectionIsSentAgain) {
  int count = 0;
  Server server([&](const Server::Request&) {
    return Server::Reply{.fault = ++count == 2 ? Fault::kClose : Fault::kNone};
  });
  ASSERT_TRUE(send(request(server.url() + "/")).get().ok());
  EXPECT_TRUE(send(request(server.url() + "/")).get().ok());
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(HttpClientTest, RequestsBeyondTheLimitsFailAtOnceAndWaitingOnesWereNotSent) {
  Server server([](const Server::Request&) { return Server::Reply{.fault = Fault::kHang}; });
  make_client({.ca_file = "", .in_flight_max = 1, .waiting_max = 1});
  auto running = send(request(server.url() + "/", 1s));
  auto waiting = send(request(server.url() + "/", 200ms));
  const MonoTime start = thread_.loop().now();
  EXPECT_TRUE(send(request(server.url() + "/", 10s)).get().is(Errc::kUnavailable));
  EXPECT_LT(thread_.loop().now() - start, 5s);
  EXPECT_TRUE(waiting.get().is(Errc::kUnavailable));
  EXPECT_TRUE(running.get().is(Errc::kAmbiguous));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpClientTest, ManyRequestsTakeTurns) {
  Server server([](const Server::Request& r) { return Server::Reply{.body = r.target}; });
  make_client({.ca_file = "", .in_flight_max = 3, .waiting_max = 100});
  std::vector<std::future<Result<HttpResponse>>> answers;
  for (int i = 0; i < 50; ++i) {
    answers.push_back(send(request(server.url() + "/" + std::to_string(i))));
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].get()->body, "/" + std::to_string(i));
  }
  EXPECT_LE(server.connection_count(), 3u);
}

TEST_F(HttpClientTest, DestroyingTheClientBreaksOffWhatRunsAndCallsNothing) {
  Server server([](const Server::Request&) { return Server::Reply{.fault = Fault::kHang}; });
  bool called = false;
  thread_.run([&] {
    client_->send(request(server.url() + "/"), [&](const auto&) { called = true; });
    client_.reset();
  });
  thread_.run([] {});
  EXPECT_FALSE(called);
}

TEST_F(HttpClientTest, ACompletionMayDestroyTheClient) {
  Server server([](const Server::Request& r) {
    return Server::Reply{.fault = r.target == "/hang" ? Fault::kHang : Fault::kNone};
  });
  bool called = false;
  std::promise<void> destroyed;
  thread_.run([&] {
    client_->send(request(server.url() + "/hang"), [&](const auto&) { called = true; });
    client_->send(request(server.url() + "/"), [&](const auto&) {
      client_.reset();
      destroyed.set_value();
    });
  });
  destroyed.get_future().wait();
  thread_.run([] {});
  EXPECT_FALSE(called);
}

TEST_F(HttpClientTest, RunsOnTheLoopAndMakesNoThread) {
  thread_.run([this] { client_.reset(); });
  std::atomic<std::size_t> meanwhile = 0;
  Server server([&](const Server::Request&) {
    meanwhile = thread_count();
    return Server::Reply{};
  });
  const std::size_t before = thread_count();
  make_client({});
  ASSERT_TRUE(send(request(server.url() + "/")).get().ok());
  EXPECT_LE(meanwhile, before + 1) << "the server has one for the connection";
  EXPECT_LE(thread_count(), before + 1);
}

TEST_F(HttpClientTest, AServerThatDoesNotAnswerHoldsUpNoTimerOfTheLoop) {
  Server server([](const Server::Request&) { return Server::Reply{.fault = Fault::kHang}; });
  const auto pending = send(request(server.url() + "/", 30s));
  while (server.requests().empty()) thread_.run([] {});
  std::promise<Duration> late;
  thread_.run([&] {
    const MonoTime due = thread_.loop().now() + 50ms;
    thread_.loop().at(due, [&, due] { late.set_value(thread_.loop().now() - due); });
  });
  EXPECT_LT(late.get_future().get(), 5s);
  EXPECT_EQ(pending.wait_for(0s), std::future_status::timeout);
}

TEST_F(HttpClientTest, ALargeBodyIsSentAndReceivedAsTheSocketTakesIt) {
  Server server([](const Server::Request& r) { return Server::Reply{.body = r.body}; });
  HttpRequest put = request(server.url() + "/", 60s);
  put.method = "PUT";
  put.body = std::string(std::size_t{16} << 20, '.') + "end";
  const auto answer = send(put).get();
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_TRUE(answer->body == put.body);
}

TEST_F(HttpClientTest, ConnectionsThatComeAndGoLeaveTheOthersAlone) {
  // Each socket is closed after its answer, and its number is used again.
  Server server([](const Server::Request& r) {
    return Server::Reply{.body = r.target, .headers = {{"Connection", "close"}}};
  });
  for (int round = 0; round < 10; ++round) {
    std::vector<std::future<Result<HttpResponse>>> answers;
    for (int i = 0; i < 5; ++i) {
      answers.push_back(send(request(server.url() + "/" + std::to_string(i))));
    }
    for (int i = 0; i < 5; ++i) {
      const auto answer = answers[static_cast<std::size_t>(i)].get();
      ASSERT_TRUE(answer.ok()) << answer.error().message;
      EXPECT_EQ(answer->body, "/" + std::to_string(i));
    }
  }
  EXPECT_EQ(server.connection_count(), 50u);
}

TEST_F(HttpClientTest, ANameThatStandsForNoAddressWasCertainlyNotSent) {
  HttpRequest lost = request("http://no-such-host.invalid/");
  lost.direct = true;
  EXPECT_TRUE(send(lost).get().is(Errc::kUnavailable));
}

}  // namespace http_client_test
}  // namespace muster
