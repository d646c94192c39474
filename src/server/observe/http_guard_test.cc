#include "server/observe/http_guard.h"

#include <gtest/gtest.h>

namespace muster::server {
namespace {

http::Request to_host(const std::string& host) {
  http::Request request;
  request.path = "/api/overview";
  if (!host.empty()) request.headers["host"] = host;
  return request;
}

TEST(HttpGuardTest, InPlaintextOnlyThisMachineIsNamed) {
  for (const char* host : {"", "localhost", "localhost:9002", "127.0.0.1:9002", "[::1]:9002"}) {
    EXPECT_TRUE(is_local(to_host(host))) << host;
  }
  for (const char* host :
       {"evil.example", "evil.example:9002", "10.0.0.1", "localhost.evil.example"}) {
    EXPECT_TRUE(is_local(to_host(host)).is(Errc::kDenied)) << host;
  }
}

}  // namespace
}  // namespace muster::server
