#include "store/postgres/address.h"

#include <gmock/gmock.h>

namespace muster::postgres {
namespace address_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result<DatabaseAddress> read(const std::string& text, const TlsFiles& tls = {},
                             bool tls13_only = false) {
  const auto url = Url::parse(text);
  if (!url) return url.error();
  return DatabaseAddress::read(*url, tls, tls13_only);
}

TEST(PostgresAddressTest, NamesHostsDatabaseAndPrefix) {
  const auto address = read("postgres://app:secret@h1:5433,[::1]:6432,h3/db?prefix=a/b/&page=7");
  ASSERT_TRUE(address) << address.error().message;
  EXPECT_THAT(address->hosts, ElementsAre(Host{"h1", "5433"}, Host{"::1", "6432"}, Host{"h3", ""}));
  EXPECT_EQ(address->parameters.at("dbname"), "db");
  EXPECT_EQ(address->parameters.at("user"), "app");
  EXPECT_EQ(address->parameters.at("password"), "secret");
  EXPECT_EQ(address->prefix, "a/b/");
  EXPECT_EQ(address->page_size, 7u);
  EXPECT_EQ(address->text, "postgres://h1:5433,[::1]:6432,h3/db?prefix=a/b");
}

TEST(PostgresAddressTest, ASocketIsADirectory) {
  const auto in_host = read("postgresql://%2Frun%2Fpostgresql/db");
  ASSERT_TRUE(in_host) << in_host.error().message;
  EXPECT_THAT(in_host->hosts, ElementsAre(Host{"/run/postgresql", ""}));
  EXPECT_TRUE(in_host->hosts[0].is_socket());
  const auto as_option = read("postgres:///db?host=/run/postgresql,h2&port=1,2");
  ASSERT_TRUE(as_option) << as_option.error().message;
  EXPECT_THAT(as_option->hosts, ElementsAre(Host{"/run/postgresql", "1"}, Host{"h2", "2"}));
  EXPECT_TRUE(read("postgres:///?service=app")->hosts.empty());
}

TEST(PostgresAddressTest, FilesOfTheProcessHoldWhereTheAddressSaysNothingOfTls) {
  const TlsFiles files{"/ca", "/cert", "/key"};
  const auto adopted = read("postgres://h/db", files, true);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->parameters.at("sslmode"), "verify-full");
  EXPECT_EQ(adopted->parameters.at("sslrootcert"), "/ca");
  EXPECT_EQ(adopted->parameters.at("sslcert"), "/cert");
  EXPECT_EQ(adopted->parameters.at("sslkey"), "/key");
  EXPECT_EQ(adopted->parameters.at("ssl_min_protocol_version"), "TLSv1.3");
  const auto own = read("postgres://h/db?sslmode=disable", files);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->parameters.at("sslmode"), "disable");
  EXPECT_FALSE(own->parameters.contains("sslrootcert"));
}

TEST(PostgresAddressTest, WhatIsWrongIsNamedAndNoValueIsShown) {
  for (const char* text :
       {"postgres://h:0/db?password=secret", "postgres://h:1x/db?password=secret",
        "postgres://[::1/db?password=secret", "postgres://h/db?page=0&password=secret",
        "postgres://h/db?prefix=/a&password=secret", "postgres://h/db?prefix=a//b&password=secret",
        "postgres://h/db?sslmodes=x&password=secret", "postgres://h/db?host=g&password=secret",
        "postgres://u:secret@h/db?password=secret", "postgres://h/db?password=sec%00ret",
        "postgres://h/db?target_session_attrs=any&password=secret",
        "postgres://h/db?hostaddr=10.0.0.1&password=secret"}) {
    const auto address = read(text);
    ASSERT_TRUE(address.is(Errc::kInvalid)) << text;
    EXPECT_THAT(address.error().message, Not(HasSubstr("sec"))) << text;
  }
  EXPECT_THAT(read("postgres://h/db?sslmod=require").error().message,
              HasSubstr("did you mean \"sslmode\""));
  EXPECT_TRUE(read("postgres://h/db?target_session_attrs=read-write"));
}

}  // namespace address_test
}  // namespace muster::postgres
