#include "platform/http/request_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace muster::http {
namespace request_bytes_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Variables = std::map<std::string, std::string>;

Environment environment(Variables variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

HttpRequest to(const std::string& url) {
  HttpRequest request;
  request.url = url;
  return request;
}

std::string bytes_for(const HttpRequest& request, const Variables& variables = {}) {
  const auto route = route_of(request, environment(variables));
  EXPECT_TRUE(route) << request.url;
  if (!route) return "";
  const auto bytes = request_bytes(request, *route);
  EXPECT_TRUE(bytes) << request.url;
  return bytes ? *bytes : "";
}

/// The proxy for `url`: "host:port", or empty.
std::string way(const std::string& url, const Variables& variables) {
  const auto route = route_of(to(url), environment(variables));
  EXPECT_TRUE(route) << url;
  return route && route->proxy ? route->proxy->host_and_port() : "";
}

TEST(UrlTest, TheTargetIsWhatTheAddressSays) {
  const auto url = parse_url("http://Host.example:8080/a/../b%2Fc?x=%3D#part");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "Host.example");
  EXPECT_EQ(url->port, 8080);
  EXPECT_EQ(url->authority, "Host.example:8080");
  EXPECT_EQ(url->target, "/a/../b%2Fc?x=%3D");
  EXPECT_EQ(parse_url("http://h")->target, "/");
  EXPECT_EQ(parse_url("http://h?q")->target, "/?q");
  EXPECT_EQ(parse_url("http://h")->port, 80);
  EXPECT_EQ(parse_url("HTTPS://h:")->port, 443);
}

TEST(UrlTest, AddressesOfIPv6StandInBrackets) {
  const auto url = parse_url("https://[2001:db8::1]:99/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "2001:db8::1");
  EXPECT_EQ(url->port, 99);
  EXPECT_EQ(url->host_and_port(), "[2001:db8::1]:99");
  EXPECT_EQ(parse_url("http://[fe80::1%25eth0]/")->host, "fe80::1%eth0");
}

TEST(UrlTest, AUserNameIsDecodedAndTold) {
  const auto url = parse_url("http://al%40ice:se:cret@h/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->user, "al@ice:se:cret");
  EXPECT_EQ(url->authority, "h");
  EXPECT_EQ(basic_credentials("Aladdin:open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  EXPECT_THAT(bytes_for(to("http://Aladdin:open%20sesame@h/")),
              HasSubstr("\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"));
}

TEST(UrlTest, WhatIsNoSuchAddressIsRefused) {
  for (const char* text :
       {"", "h", "ftp://h/", "http://", "http:///x", "http://h:0/", "http://h:65536/",
        "http://h:x/", "http://[::1/", "http://[::1]x/", "http://a b/", "http://h/a b",
        "http://h/\r\nX: 1", "http://%68/", "http://u%zz@h/", "http://h]/"}) {
    EXPECT_TRUE(parse_url(text).is(Errc::kInvalid)) << text;
  }
}

TEST(RequestBytesTest, AHeadIsWrittenAsGiven) {
  HttpRequest put = to("http://h:81/x");
  put.method = "PUT";
  put.headers = {{"X-One", "1"}, {"X-Empty", ""}};
  put.body = "body";
  EXPECT_EQ(bytes_for(put),
            "PUT /x HTTP/1.1\r\nHost: h:81\r\nAccept: */*\r\nX-One: 1\r\nX-Empty: \r\n"
            "Content-Length: 4\r\n\r\nbody");
  HttpRequest get = to("http://h/");
  get.headers = {{"HOST", "other"}, {"accept", "text/xml"}};
  EXPECT_EQ(bytes_for(get), "GET / HTTP/1.1\r\nHOST: other\r\naccept: text/xml\r\n\r\n");
}

TEST(RequestBytesTest, AHeaderThatWouldBreakTheHeadIsRefused) {
  const auto route = route_of(to("http://h/"), environment({}));
  ASSERT_TRUE(route);
  HttpRequest request = to("http://h/");
  request.headers = {{"X-One", "1\r\nX-Two: 2"}};
  EXPECT_TRUE(request_bytes(request, *route).is(Errc::kInvalid));
  request.headers = {{"X One", "1"}};
  EXPECT_TRUE(request_bytes(request, *route).is(Errc::kInvalid));
  request.headers = {};
  request.method = "GET / HTTP/1.1\r\n";
  EXPECT_TRUE(request_bytes(request, *route).is(Errc::kInvalid));
}

TEST(RequestBytesTest, AProxyIsAskedForTheWholeAddressOrATunnel) {
  const Variables by{{"all_proxy", "http://al:pw@proxy:3128"}};
  const std::string plain = bytes_for(to("http://h/x"), by);
  EXPECT_THAT(plain, StartsWith("GET http://h/x HTTP/1.1\r\nHost: h\r\n"));
  EXPECT_THAT(plain, HasSubstr("\r\nProxy-Authorization: Basic YWw6cHc=\r\n"));
  const std::string inside = bytes_for(to("https://h/x"), by);
  EXPECT_THAT(inside, StartsWith("GET /x HTTP/1.1\r\n"));
  EXPECT_THAT(inside, Not(HasSubstr("Proxy-Authorization")));
  EXPECT_EQ(connect_bytes(*route_of(to("https://h/x"), environment(by))),
            "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\nProxy-Authorization: Basic YWw6cHc=\r\n\r\n");
}

TEST(ProxyTest, EachSchemeHasItsVariables) {
  EXPECT_EQ(way("http://h/", {{"http_proxy", "p:1"}}), "p:1");
  EXPECT_EQ(way("http://h/", {{"HTTP_PROXY", "p:1"}}), "") << "a header of the client";
  EXPECT_EQ(way("https://h/", {{"http_proxy", "p:1"}}), "");
  EXPECT_EQ(way("https://h/", {{"https_proxy", "p:1"}, {"HTTPS_PROXY", "q:1"}}), "p:1");
  EXPECT_EQ(way("https://h/", {{"HTTPS_PROXY", "q:1"}, {"ALL_PROXY", "a:1"}}), "q:1");
  EXPECT_EQ(way("https://h/", {{"ALL_PROXY", "a:1"}}), "a:1");
  EXPECT_EQ(way("http://h/", {{"http_proxy", ""}, {"all_proxy", "http://a"}}), "a:1080");
}

TEST(ProxyTest, OnlyProxiesOfHttpAreUsed) {
  for (const char* proxy : {"socks5://p:1", "https://p:1", "http://p:x", "http://"}) {
    EXPECT_TRUE(route_of(to("http://h/"), environment({{"http_proxy", proxy}})).is(Errc::kInvalid))
        << proxy;
  }
}

TEST(ProxyTest, SomeHostsAreAskedDirectly) {
  const auto by_proxy = [](const std::string& host, const std::string& list) {
    return !way("http://" + host + "/", {{"http_proxy", "p:1"}, {"no_proxy", list}}).empty();
  };
  EXPECT_FALSE(by_proxy("h.example", "*"));
  EXPECT_FALSE(by_proxy("h.example", "h.example"));
  EXPECT_FALSE(by_proxy("H.Example", "x, .example"));
  EXPECT_FALSE(by_proxy("a.h.example", "h.EXAMPLE x"));
  EXPECT_FALSE(by_proxy("h.example.", "h.example"));
  EXPECT_TRUE(by_proxy("notexample", "example"));
  EXPECT_TRUE(by_proxy("h.example", "x.h.example"));
  EXPECT_TRUE(by_proxy("h.example", ""));
  EXPECT_TRUE(by_proxy("h.example", "."));
  EXPECT_FALSE(by_proxy("10.1.2.3", "10.1.2.3"));
  EXPECT_FALSE(by_proxy("10.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(by_proxy("11.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(by_proxy("10.1.2.3", "2.3"));
  EXPECT_FALSE(by_proxy("[::1]", "[::1]"));
  EXPECT_FALSE(by_proxy("[2001:db8::7]", "2001:db8::/33"));
  EXPECT_TRUE(by_proxy("[2001:db8:8000::7]", "2001:db8::/33"));
  EXPECT_EQ(way("http://h/", {{"http_proxy", "p:1"}, {"NO_PROXY", "h"}}), "");
  HttpRequest direct = to("http://h/");
  direct.direct = true;
  EXPECT_FALSE(route_of(direct, environment({{"http_proxy", "p:1"}}))->proxy);
}

TEST(RouteTest, OnlyRequestsOfOneWayShareConnections) {
  const auto key = [](const std::string& url, const Variables& variables = {}) {
    return route_of(to(url), environment(variables))->key();
  };
  const Variables by{{"all_proxy", "p:1"}};
  EXPECT_EQ(key("http://h/a"), key("http://u:p@h:80/b?c"));
  EXPECT_NE(key("http://h/"), key("http://h:81/"));
  EXPECT_NE(key("http://h:443/"), key("https://h/"));
  EXPECT_NE(key("http://h/"), key("http://i/"));
  EXPECT_NE(key("http://h/"), key("http://h/", by));
  EXPECT_EQ(key("http://h/", by), key("http://i/", by));
  EXPECT_NE(key("https://h/", by), key("https://i/", by));
  EXPECT_NE(key("https://h/"), key("https://h/", by));
  EXPECT_NE(key("http://h/", by), key("http://h/", {{"all_proxy", "u@p:1"}}));
}

}  // namespace request_bytes_test
}  // namespace muster::http
