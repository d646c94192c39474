#include "platform/http/message.h"

#include <gtest/gtest.h>

namespace muster::http {
namespace message_test {

TEST(HttpMessageTest, ReadsARequestWithItsQueryAndLeavesWhatFollows) {
  std::string bytes =
      "GET /api/nodes?q=a%20b+c&state=down HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 17\r\n\r\nGET";
  const Parsed parsed = take_request(bytes);
  ASSERT_TRUE(parsed.request);
  EXPECT_EQ(parsed.request->path, "/api/nodes");
  EXPECT_EQ(parsed.request->parameter("q"), "a b c");
  EXPECT_EQ(parsed.request->parameter("state"), "down");
  EXPECT_EQ(parsed.request->parameter("absent"), "");
  EXPECT_EQ(parsed.request->header("last-event-id"), "17");
  EXPECT_TRUE(parsed.request->keep_alive);
  EXPECT_EQ(bytes, "GET");
}

TEST(HttpMessageTest, WaitsForTheRestOfAHead) {
  std::string bytes = "GET / HTTP/1.1\r\nHost: x\r\n";
  const Parsed parsed = take_request(bytes);
  EXPECT_FALSE(parsed.request);
  EXPECT_FALSE(parsed.refused);
}

TEST(HttpMessageTest, RefusesWhatItDoesNotServe) {
  const std::pair<std::string, int> cases[] = {
      {"POST / HTTP/1.1\r\n\r\n", 405},
      {"GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 413},
      {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413},
      {"GET / SPDY\r\n\r\n", 400},
      {"GET nothing HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nName : folded\r\n\r\n", 400},
      {"GET /?a=%zz HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nX: " + std::string(kHeadBytesMax, 'x'), 431},
  };
  for (const auto& [text, status] : cases) {
    std::string bytes = text;
    const Parsed parsed = take_request(bytes);
    EXPECT_FALSE(parsed.request) << text;
    ASSERT_TRUE(parsed.refused) << text;
    EXPECT_EQ(parsed.refused->status, status) << text;
  }
}

constexpr RequestRules kBodies{.body_bytes_max = 10};

TEST(HttpMessageTest, ABodyIsTakenWithItsRequest) {
  std::string bytes = "PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nab";
  Parsed parsed = take_request(bytes, kBodies);
  EXPECT_FALSE(parsed.request);
  EXPECT_EQ(parsed.needs, bytes.size() + 1);
  EXPECT_FALSE(parsed.asks_to_continue);
  bytes += "cGET /";
  parsed = take_request(bytes, kBodies);
  ASSERT_TRUE(parsed.request);
  EXPECT_EQ(parsed.request->method, "PUT");
  EXPECT_EQ(parsed.request->body, "abc");
  EXPECT_EQ(bytes, "GET /");
  bytes = "DELETE /a HTTP/1.1\r\n\r\n";
  EXPECT_TRUE(take_request(bytes, kBodies).request);
  bytes = "PUT /a HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n";
  EXPECT_TRUE(take_request(bytes, kBodies).asks_to_continue);
}

TEST(HttpMessageTest, RefusesBodiesThatAreTooLongOrHaveNoOneEnd) {
  const std::pair<std::string, int> cases[] = {
      {"PUT /a HTTP/1.1\r\nContent-Length: 11\r\n\r\n", 413},
      {"PUT /a HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"PUT /a HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"PUT /a HTTP/1.1\r\nContent-Length:\r\n\r\n", 400},
      {"PUT /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
      {"PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 411},
      {"PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
      {"GET /a HTTP/1.1\r\nContent-Length: 1\r\n\r\na", 413},
  };
  for (const auto& [text, status] : cases) {
    std::string bytes = text;
    const Parsed parsed = take_request(bytes, kBodies);
    ASSERT_TRUE(parsed.refused) << text;
    EXPECT_EQ(parsed.refused->status, status) << text;
    if (status != 400) {
      EXPECT_EQ(parsed.refused->path, "/a");
    }
  }
}

TEST(HttpMessageTest, WritesAHead) {
  Response response;
  response.headers.emplace_back("ETag", "\"1\"");
  EXPECT_EQ(head(response, 5, true),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n"
            "ETag: \"1\"\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(head(response, {}, true).find("Connection: close"), std::string::npos);
}

}  // namespace message_test
}  // namespace muster::http
