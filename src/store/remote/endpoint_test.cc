#include "store/remote/endpoint.h"

#include <gmock/gmock.h>

namespace muster::remote {
namespace endpoint_test {

using ::testing::ElementsAre;

TEST(EndpointTest, HasAHostAPortAndTheNameInACertificate) {
  const struct {
    const char* text;
    const char* host;
    std::uint16_t port;
    const char* name;
  } endpoints[] = {
      {"etcd.example:2379", "etcd.example", 2379, "etcd.example"},
      {"10.0.0.1:1", "10.0.0.1", 1, "10.0.0.1"},
      {"[::1]:65535", "[::1]", 65535, "::1"},
      {"unix:/run/etcd:1", "unix:/run/etcd:1", 0, "localhost"},
  };
  for (const auto& [text, host, port, name] : endpoints) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_TRUE(endpoint.ok()) << text;
    EXPECT_EQ(endpoint->host, host);
    EXPECT_EQ(endpoint->port, port);
    EXPECT_EQ(endpoint->name(), name);
  }
}

TEST(EndpointTest, WhatNamesNoServerIsRefused) {
  for (const char* text : {"", "host", ":1", "host:", "host:0", "host:65536", "host:x", "[::1]"}) {
    EXPECT_TRUE(Endpoint::parse(text).is(Errc::kInvalid)) << text;
  }
}

TEST(EndpointTest, APortIsAddedWhereNoneIsNamed) {
  const auto endpoints = with_ports({"h1", "h2:99", "[::1]", "[::1]:7"}, "2379");
  ASSERT_TRUE(endpoints.ok());
  EXPECT_THAT(*endpoints, ElementsAre("h1:2379", "h2:99", "[::1]:2379", "[::1]:7"));
  EXPECT_TRUE(with_ports({"h1", "h2:0"}, "2379").is(Errc::kInvalid));
}

}  // namespace endpoint_test
}  // namespace muster::remote
