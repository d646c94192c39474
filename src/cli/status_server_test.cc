#include "cli/status_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>

#include "platform/host.h"
#include "platform/testing/loopback.h"
#include "platform/unique_fd.h"

namespace muster::cli {
namespace http_face_test {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

HttpAnswers follower(std::thread::id* asked_on = nullptr) {
  return {.leader =
              [asked_on] {
                if (asked_on != nullptr) *asked_on = std::this_thread::get_id();
                return HttpAnswers::Leadership{WorkerId("w1"), Epoch(7), 0ms};
              },
          .metrics = [] { return std::string("muster_x 1\n"); }};
}

std::unique_ptr<StatusServer> listen(const std::string& address, HttpAnswers answers = follower()) {
  auto face = StatusServer::listen(parse_http_address(address).value(), std::move(answers));
  EXPECT_TRUE(face) << face.error().message;
  return face ? std::move(*face) : nullptr;
}

/// The whole answer, when the connection is over.
std::string ask(const StatusServer& face, const std::string& line, const std::string& host = "") {
  const UniqueFd fd = testing::dial_loopback(face.address().port);
  const std::string head = line + " HTTP/1.1\r\n" + (host.empty() ? "" : "Host: " + host + "\r\n") +
                           "Connection: close\r\n\r\n";
  EXPECT_EQ(::send(fd.get(), head.data(), head.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(head.size()));
  std::string answer;
  char one = 0;
  while (::recv(fd.get(), &one, 1, 0) == 1) answer += one;
  return answer;
}

// The test's own thread waits in recv(): no loop of the program is needed for an answer.
TEST(StatusServerTest, AnswersOnAThreadOfItsOwn) {
  std::thread::id asked_on;
  const auto face = listen("127.0.0.1:0", follower(&asked_on));
  EXPECT_THAT(ask(*face, "GET /leader"),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Cache-Control: no-store\r\n"),
                    EndsWith("\r\n\r\n{\"leader\":\"w1\",\"epoch\":7,\"deadlineMs\":0}\n")));
  EXPECT_NE(asked_on, std::thread::id());
  EXPECT_NE(asked_on, std::this_thread::get_id());
}

TEST(StatusServerTest, GetAndHeadAreAnsweredAndNothingElse) {
  const auto face = listen("127.0.0.1:0");
  EXPECT_THAT(ask(*face, "GET /metrics"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("text/plain; version=0.0.4"),
                    EndsWith("\r\n\r\nmuster_x 1\n")));
  EXPECT_THAT(ask(*face, "HEAD /healthz"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Length: 17\r\n"),
                    EndsWith("\r\n\r\n")));
  EXPECT_THAT(ask(*face, "POST /healthz"), StartsWith("HTTP/1.1 405 "));
}

TEST(StatusServerTest, WhatThereIsNotIsToldFromWhatThereIs) {
  const auto candidate = listen("127.0.0.1:0");
  EXPECT_THAT(ask(*candidate, "GET /workers"),
              AllOf(StartsWith("HTTP/1.1 404 "),
                    EndsWith("{\"error\":\"ask for /leader, /metrics, or /healthz with GET\"}\n")));
  HttpAnswers answers = follower();
  answers.workers = [] { return std::vector{WorkerId("w1")}; };
  answers.metrics_json = [] { return std::string("{}"); };
  answers.name_space = "fleet";
  const auto worker = listen("127.0.0.1:0", std::move(answers));
  EXPECT_THAT(ask(*worker, "GET /workers"),
              EndsWith("{\"namespace\":\"fleet\",\"workers\":[\"w1\"]}\n"));
  EXPECT_THAT(ask(*worker, "GET /metrics.json"), EndsWith("\r\n\r\n{}\n"));
  EXPECT_THAT(ask(*worker, "GET /"),
              EndsWith("{\"error\":\"ask for /leader, /workers, /metrics, /metrics.json or "
                       "/healthz with GET\"}\n"));
}

// R38: any Host was believed.
TEST(StatusServerTest, WhereItListensDecidesWhichHostsItIs) {
  const auto own = listen("127.0.0.1:0");
  EXPECT_THAT(ask(*own, "GET /leader", "localhost:9010"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(ask(*own, "GET /leader", "10.0.0.1:9010"), StartsWith("HTTP/1.1 403 "));
  const auto open = listen("0.0.0.0:0");
  for (const std::string& host : {std::string("10.0.0.1:9010"), host_name()}) {
    EXPECT_THAT(ask(*open, "GET /leader", host), StartsWith("HTTP/1.1 503 ")) << host;
  }
  EXPECT_THAT(ask(*open, "GET /leader", "evil.example"), StartsWith("HTTP/1.1 403 "));
}

TEST(StatusServerTest, APortThatIsTakenIsRefused) {
  const auto first = listen("127.0.0.1:0");
  const auto second = StatusServer::listen(first->address(), follower());
  ASSERT_TRUE(second.is(Errc::kUnavailable));
  EXPECT_EQ(second.error().message, "cannot listen on " + url_of(first->address()) +
                                        "; the port may be in use, or the address may not belong "
                                        "to this host");
}

}  // namespace http_face_test
}  // namespace muster::cli
