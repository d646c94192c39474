#include "core/net/address.h"

#include <gtest/gtest.h>

namespace muster {
namespace address_test {

TEST(AddressTest, ReadsBackWhatItWrites) {
  for (const std::string text : {"127.0.0.1:9000", "[::1]:9000", "h1.example:1", "localhost:0"}) {
    EXPECT_EQ(Address::parse(text).value().to_string(), text);
  }
  for (const std::string text :
       {"", "h", "h:", "h:65536", "h:-1", "[::1", "[::1]9", "::1:90", "a b:1", "[h]:1", "h:1:2"}) {
    EXPECT_FALSE(Address::parse(text).ok()) << text;
  }
  EXPECT_TRUE(Address::parse("127.9.9.9:1")->is_loopback());
  EXPECT_FALSE(Address::parse("127.evil.example:1")->is_loopback());
}

TEST(AddressTest, LoopbackIsKnownInEverySpelling) {
  for (const char* text : {"localhost:1", "127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::0001]:1",
                           "[0:0:0:0:0:0:0:1]:1", "[0::0:1]:1"}) {
    EXPECT_TRUE(Address::parse(text).value().is_loopback()) << text;
  }
  for (const char* text : {":1", "[::]:1", "[::11]:1", "[1::1]:1", "[::1:0:1]:1", "128.0.0.1:1",
                           "127.evil.example:1", "localhost.evil.example:1"}) {
    EXPECT_FALSE(Address::parse(text).value().is_loopback()) << text;
  }
}

}  // namespace address_test
}  // namespace muster
