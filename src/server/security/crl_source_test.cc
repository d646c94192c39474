#include "server/security/crl_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "platform/testing/scripted_http_server.h"
#include "server/security/tls_test_authority.h"

namespace muster::server {
namespace crl_source_test {

using ::testing::HasSubstr;

/// What one fetch over HTTP answers.
Result<std::string> fetched(const std::string& url, Duration limit = 10s) {
  LoopThread thread;
  std::unique_ptr<HttpClient> http;
  std::promise<Result<std::string>> answer;
  thread.run([&] {
    http = std::make_unique<HttpClient>(thread.loop());
    crl_from_url(*http, url)(thread.loop().now() + limit, [&](Result<std::string> bytes) {
      answer.set_value(std::move(bytes));
    });
  });
  Result<std::string> bytes = answer.get_future().get();
  thread.run([&] { http.reset(); });
  return bytes;
}

TEST(CrlSourceTest, AFileIsReadEachTime) {
  const TestDirectory dir;
  const CrlKeeper::Fetch fetch = crl_from_file(dir.file("crl.pem"));
  std::vector<Result<std::string>> got;
  const auto keep = [&](Result<std::string> bytes) { got.push_back(std::move(bytes)); };
  fetch({}, keep);
  dir.write("crl.pem", "one");
  fetch({}, keep);
  dir.write("crl.pem", "two");
  fetch({}, keep);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_TRUE(got[0].is(Errc::kNotFound));
  EXPECT_EQ(got[1].value(), "one");
  EXPECT_EQ(got[2].value(), "two");
}

TEST(CrlSourceTest, AnAddressIsAskedAndOnlyAnAnswerOf200Counts) {
  const TestAuthority ca(system_wall_now());
  const std::string pem = ca.list({"ab"});
  ScriptedHttpServer server([&](const ScriptedHttpServer::Request& request) {
    return request.target == "/crl.pem" ? ScriptedHttpServer::Reply{200, pem}
                                        : ScriptedHttpServer::Reply{404, "not here"};
  });
  EXPECT_EQ(fetched(server.url() + "/crl.pem").value(), pem);
  const auto absent = fetched(server.url() + "/other");
  EXPECT_TRUE(absent.is(Errc::kUnavailable));
  EXPECT_THAT(absent.error().message, HasSubstr("404"));
}

TEST(CrlSourceTest, AServerThatHangsOrCutsOffIsAFailureInTime) {
  ScriptedHttpServer server([&](const ScriptedHttpServer::Request& request) {
    ScriptedHttpServer::Reply reply{200, "half of a list"};
    reply.fault = request.target == "/hang" ? ScriptedHttpServer::Fault::kHang
                                            : ScriptedHttpServer::Fault::kCutBody;
    return reply;
  });
  EXPECT_FALSE(fetched(server.url() + "/cut").ok());
  EXPECT_FALSE(fetched(server.url() + "/hang", 200ms).ok());
}

}  // namespace crl_source_test
}  // namespace muster::server
