#include "core/net/host_check.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace muster {
namespace host_check_test {

Status check(const char* header, const char* listening) {
  return check_host(header, Address::parse(listening).value(), "Node1");
}

TEST(HostCheckTest, AtALoopbackAddressOnlyLoopbackNamesThisMachine) {
  for (const char* own :
       {"", "localhost", "localhost:9002", "LocalHost:9002", "localhost.:9002", "127.0.0.1:9002",
        "127.1.2.3", "[::1]:9002", "[::1]", "[0:0:0:0:0:0:0:1]:9002"}) {
    EXPECT_TRUE(check(own, "127.0.0.1:9002").ok()) << own;
    EXPECT_TRUE(check(own, "[::1]:9002").ok()) << own;
  }
  for (const char* other : {"evil.example", "evil.example:9002", "10.0.0.1", "node1",
                            "localhost.evil.example", "127.evil.example", "[::2]:9002", "::1",
                            "localhost:99999", "localhost:9002:1", "user@localhost"}) {
    EXPECT_TRUE(check(other, "127.0.0.1:9002").is(Errc::kDenied)) << other;
  }
}

TEST(HostCheckTest, AtOtherAddressesNumbersAndOwnNamesNameThisMachine) {
  for (const char* own : {"", "localhost:9002", "10.0.0.1:9002", "[fd00::1]:9002", "node1:9002",
                          "NODE1.", "[::1]:9002"}) {
    EXPECT_TRUE(check(own, "0.0.0.0:9002").ok()) << own;
  }
  EXPECT_TRUE(check("db.example:9002", "db.example:9002").ok());
  EXPECT_TRUE(check("db.example:9002", "0.0.0.0:9002").is(Errc::kDenied));
  EXPECT_TRUE(check("evil.example:9002", "db.example:9002").is(Errc::kDenied));
  EXPECT_EQ(check("evil.example", "10.0.0.1:9002").error().message,
            "the request names another machine as its host; use this machine's address, or Node1");
}

}  // namespace host_check_test
}  // namespace muster
