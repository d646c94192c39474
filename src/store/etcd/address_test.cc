#include "store/etcd/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::etcd {
namespace address_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Address> read(const char* text) {
  return Address::read(Url::parse(text).value());
}

TEST(EtcdAddressTest, NamesMembersAndFiles) {
  const auto address = read("etcd://h1,h2:99/p?cacert=/e/ca&cert=/e/c%20c&key=/e/k");
  ASSERT_TRUE(address.ok()) << address.error().message;
  EXPECT_THAT(address->endpoints, ElementsAre("h1:2379", "h2:99"));
  EXPECT_TRUE(address->names_files());
  EXPECT_EQ(address->tls.ca, "/e/ca");
  EXPECT_EQ(address->tls.cert, "/e/c c");
  EXPECT_EQ(address->tls.key, "/e/k");
  EXPECT_FALSE(read("etcd://h1/p")->names_files());
  EXPECT_THAT(read("etcd:///p?socket=/s")->endpoints, ElementsAre("unix:/s"));
}

TEST(EtcdAddressTest, WhatItCannotUseIsRefused) {
  EXPECT_THAT(read("etcd://h/p?ca=/x").error().message, HasSubstr("cacert, cert and key"));
  EXPECT_THAT(read("etcd://h/p?cert=c.pem").error().message, HasSubstr("the cert of"));
  for (const char* text :
       {"etcd:///p", "etcd://h/p?socket=/s", "etcd://:secret@h/p", "file:///p"}) {
    EXPECT_TRUE(read(text).is(Errc::kInvalid)) << text;
  }
}

}  // namespace address_test
}  // namespace muster::etcd
