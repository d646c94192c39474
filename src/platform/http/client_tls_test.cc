// What servers that speak TLS do to an HttpClient, and what it believes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "platform/http/server.h"
#include "platform/pki/issue.h"
#include "platform/pki/system_authorities.h"
#include "platform/system_clock.h"
#include "platform/testing/http_scene.h"
#include "platform/testing/loopback.h"
#include "platform/testing/raw_server.h"

namespace muster::http {
namespace client_tls_test {

using ::muster::testing::RawPeer;
using ::muster::testing::RawServer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A CA, and the certificates it issues.
class Issuer {
 public:
  explicit Issuer(const std::string& name) {
    order_.common_name = name;
    order_.use = pki::CertificateOrder::Use::kAuthority;
    order_.not_before = std::chrono::floor<std::chrono::seconds>(system_wall_now()) - 1h;
    order_.not_after = order_.not_before + 48h;
    own_.emplace(pki::issue_authority(order_, key_).value());
  }
  [[nodiscard]] std::string pem() const { return own_->to_pem(); }
  /// Certificate and key.
  [[nodiscard]] pki::TlsTexts issue(const std::string& name, std::vector<std::string> names,
                                    std::vector<std::string> addresses) {
    const auto key = pki::PrivateKey::generate(pki::KeyType::kEcP256).value();
    pki::CertificateOrder order = order_;
    order.common_name = name;
    order.use = pki::CertificateOrder::Use::kServerAndClient;
    order.dns_names = std::move(names);
    order.ip_addresses = std::move(addresses);
    return {pem(), pki::issue(order, key, *own_, key_).value().to_pem(), key.to_pem()};
  }

 private:
  pki::PrivateKey key_ = pki::PrivateKey::generate(pki::KeyType::kEcP256).value();
  pki::CertificateOrder order_;
  std::optional<pki::Certificate> own_;
};

class HttpTlsTest : public muster::testing::HttpScene {
 protected:
  HttpTlsTest() { std::filesystem::create_directories(dir_); }
  ~HttpTlsTest() override {
    thread_.run([this] { client_.reset(); });
    for (const char* each : {"SSL_CERT_FILE", "https_proxy"}) ::unsetenv(each);
    std::filesystem::remove_all(dir_);
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }
  /// A server's; `asks` for a certificate, and takes one of `issuer` alone.
  pki::SslContext context(Issuer& issuer, bool asks = false, int most = TLS1_3_VERSION) {
    auto made =
        pki::tls_context(issuer.issue("server", {"localhost"}, {"127.0.0.1"}), {.tls12 = true})
            .value();
    SSL_CTX_set_max_proto_version(made.get(), most);
    SSL_CTX_set_verify(made.get(),
                       asks ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE,
                       nullptr);
    return made;
  }
  /// Answers every request of a connection, with the name of the client's certificate in the head.
  static RawServer::Serve always(pki::SslContext context) {
    return [context](RawPeer& peer, std::size_t) {
      if (!peer.shake(context.get())) return;
      std::string shown = "nobody";
      if (X509* x509 = SSL_get0_peer_certificate(peer.ssl())) {
        char name[100]{};
        X509_NAME_get_text_by_NID(X509_get_subject_name(x509), NID_commonName, name, sizeof name);
        shown = name;
      }
      while (!peer.read_head().empty()) {
        peer.write("HTTP/1.1 200 OK\r\nX-Shown: " + shown + "\r\nContent-Length: 2\r\n\r\nok");
      }
    };
  }
  HttpRequest telling(const std::string& url) {
    HttpRequest r = request(url);
    r.tell_refusals = true;
    return r;
  }
  static std::string at(const std::string& host, const RawServer& server) {
    return "https://" + host + ":" + std::to_string(server.port()) + "/secret-path";
  }

  const std::filesystem::path dir_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("muster-http-") +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
  Issuer ours_{"Our CA"};
  Issuer others_{"Another CA"};
  const std::string ca_ = [this] {
    std::filesystem::create_directories(dir_);
    return write("ca", ours_.pem());
  }();
};

TEST_F(HttpTlsTest, AServerOfTheNamedAuthorityIsBelievedByNameAndByAddress) {
  RawServer server(always(context(ours_)));
  make_client({.ca_file = ca_});
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto answer = ask(at(host, server));
    ASSERT_TRUE(answer) << host << ": " << answer.error().message;
    EXPECT_EQ(answer->body, "ok");
  }
  EXPECT_EQ(server.accepted(), 2u);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(ask(at("127.0.0.1", server)));
  EXPECT_EQ(server.accepted(), 2u) << "connections with TLS are used again, too";
}

TEST_F(HttpTlsTest, AServerWithAnotherNameOrAuthorityIsNotBelieved) {
  const auto other_name =
      pki::tls_context(ours_.issue("x", {"else.example"}, {"127.0.0.9"}), {.tls12 = true});
  SSL_CTX_set_verify(other_name->get(), SSL_VERIFY_NONE, nullptr);
  RawServer misnamed(always(*other_name)), foreign(always(context(others_)));
  make_client({.ca_file = ca_});
  for (const std::string& url : {at("localhost", misnamed), at("127.0.0.1", misnamed),
                                 at("localhost", foreign), at("127.0.0.1", foreign)}) {
    const auto untold = ask(url);
    EXPECT_TRUE(untold.is(Errc::kUnavailable)) << url;
    EXPECT_THAT(untold.error().message, HasSubstr("certificate verify failed"));
    const auto told = ask(telling(url));
    ASSERT_TRUE(told.is(Errc::kDenied)) << url << ": " << told.error().message;
    EXPECT_THAT(told.error().message, Not(HasSubstr("secret-path")));
  }
}

TEST_F(HttpTlsTest, OnlyTheNamedAuthoritiesCountWhereThereAreAny) {
  ::setenv("SSL_CERT_FILE", write("system", others_.pem()).c_str(), 1);
  RawServer of_system(always(context(others_)));
  make_client({.ca_file = ca_});
  EXPECT_FALSE(ask(at("localhost", of_system)));
  make_client({});
  const auto answer = ask(at("localhost", of_system));
  EXPECT_TRUE(answer) << answer.error().message;
}

TEST_F(HttpTlsTest, TheSystemsAuthoritiesAreReadWhenTheyChangeAndNotBefore) {
  const std::string file = write("system", others_.pem());
  ::setenv("SSL_CERT_FILE", file.c_str(), 1);
  const auto first = pki::system_authorities();
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, *pki::system_authorities());
  RawServer server(always(context(ours_)));
  make_client({});
  EXPECT_FALSE(ask(at("localhost", server)));
  write("system", others_.pem() + ours_.pem());
  const auto answer = ask(at("localhost", server));
  EXPECT_TRUE(answer) << answer.error().message;
  const auto second = pki::system_authorities();
  EXPECT_NE(*first, *second);
  write("system", "no PEM at all");
  EXPECT_EQ(*second, *pki::system_authorities()) << "the former stay in force";
}

TEST_F(HttpTlsTest, TheOldTlsIsSpokenUnlessOnlyTheNewOneWillDo) {
  RawServer old(always(context(ours_, false, TLS1_2_VERSION)));
  make_client({.ca_file = ca_});
  EXPECT_TRUE(ask(at("localhost", old)));
  make_client({.ca_file = ca_, .tls13_only = true});
  EXPECT_TRUE(ask(at("localhost", old)).is(Errc::kUnavailable));
  RawServer older(always(context(ours_, false, TLS1_1_VERSION)));
  make_client({.ca_file = ca_});
  EXPECT_TRUE(ask(at("localhost", older)).is(Errc::kUnavailable));
}

TEST_F(HttpTlsTest, ACertificateIsShownAndANewOneOnTheNextConnection) {
  RawServer server(always(context(ours_, true)));
  const auto show = [&](const std::string& name) {
    const auto pair = ours_.issue(name, {}, {});
    write("cert", pair.cert);
    write("key", pair.key);
  };
  show("alice");
  make_client({.ca_file = ca_, .cert_file = dir_ / "cert", .key_file = dir_ / "key"});
  auto answer = ask(at("localhost", server));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->header("x-shown"), "alice");
  show("bob");
  EXPECT_EQ(ask(at("localhost", server))->header("x-shown"), "alice") << "of the connection";
  EXPECT_EQ(ask(at("127.0.0.1", server))->header("x-shown"), "bob");
  write("cert", others_.issue("eve", {}, {}).cert);  // Not that of the key.
  EXPECT_EQ(ask(at("LocalHost", server))->header("x-shown"), "bob") << "the former stays";
}

TEST_F(HttpTlsTest, AServerThatRefusesOurCertificateIsHeard) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const pki::SslContext asks = context(ours_, true, version);
    RawServer server([&](RawPeer& peer, std::size_t) {
      if (peer.shake(asks.get())) return;
      peer.read();  // A connection that is reset may lose what was said.
    });
    make_client({.ca_file = ca_});
    const auto none = ask(telling(at("localhost", server)));
    EXPECT_TRUE(none.is(Errc::kDenied)) << (none ? "answered" : none.error().message);
    EXPECT_THAT(none.error().message, HasSubstr("alert"));
    const auto pair = others_.issue("eve", {}, {});
    make_client(
        {.ca_file = ca_, .cert_file = write("c", pair.cert), .key_file = write("k", pair.key)});
    const auto foreign = ask(telling(at("localhost", server)));
    EXPECT_TRUE(foreign.is(Errc::kDenied)) << (foreign ? "answered" : foreign.error().message);
    const auto untold = ask(at("localhost", server));
    EXPECT_TRUE(untold.is(version == TLS1_3_VERSION ? Errc::kAmbiguous : Errc::kUnavailable));
  }
}

TEST_F(HttpTlsTest, FilesThatCannotBeUsedAreNamed) {
  RawServer server(always(context(ours_)));
  make_client({.ca_file = write("nonsense", "no PEM at all")});
  const auto answer = ask(at("localhost", server));
  ASSERT_TRUE(answer.is(Errc::kUnavailable));
  EXPECT_THAT(answer.error().message, HasSubstr("nonsense"));
  write("nonsense", ours_.pem());
  EXPECT_TRUE(ask(at("localhost", server))) << "it can be mended while the program runs";
}

TEST_F(HttpTlsTest, ABodyThatEndsWithItsConnectionIsWholeOnlyIfTlsSaysSo) {
  const pki::SslContext ours = context(ours_);
  bool goodbye = true;
  RawServer server([&](RawPeer& peer, std::size_t) {
    if (!peer.shake(ours.get())) return;
    peer.read_head();
    peer.write("HTTP/1.1 200 OK\r\n\r\nhalf of i");
    if (goodbye) peer.say_goodbye();
  });
  make_client({.ca_file = ca_});
  EXPECT_TRUE(ask(at("localhost", server)));
  goodbye = false;
  EXPECT_TRUE(ask(at("localhost", server)).is(Errc::kAmbiguous)) << "anybody can cut a connection";
}

TEST_F(HttpTlsTest, LargeBodiesGoBothWays) {
  const pki::SslContext ours = context(ours_);
  const std::string body(std::size_t{8} << 20, 'x');
  RawServer server([&](RawPeer& peer, std::size_t) {
    if (!peer.shake(ours.get())) return;
    std::string all = peer.read_head();
    const auto end = all.find("\r\n\r\n") + 4;
    while (all.size() < end + body.size()) {
      const std::string more = peer.read();
      if (more.empty()) return;
      all += more;
    }
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
    peer.write(all.substr(end));
    peer.read();
  });
  make_client({.ca_file = ca_});
  HttpRequest put = request(at("localhost", server), 60s);
  put.method = "PUT";
  put.body = body;
  const auto answer = ask(put);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->body == body);
}

TEST_F(HttpTlsTest, AHungHandshakeEndsAtTheDeadlineAsNotSent) {
  RawServer silent([](RawPeer& peer, std::size_t) {
    while (!peer.read().empty()) continue;
  });
  make_client({.ca_file = ca_});
  EXPECT_TRUE(ask(request(at("localhost", silent), 300ms)).is(Errc::kUnavailable));
}

// One proxy that takes CONNECT, and then is the server itself.
TEST_F(HttpTlsTest, HostsBehindAProxyAreReachedThroughATunnel) {
  const pki::SslContext ours = context(ours_);
  std::string connect, inside, reply = "HTTP/1.1 200 Connected\r\nContent-Length: 9\r\n\r\n";
  RawServer proxy([&](RawPeer& peer, std::size_t) {
    connect = peer.read_head();
    if (connect.empty()) return;
    peer.write(reply);
    if (reply.find(" 200 ") == std::string::npos || !peer.shake(ours.get())) return;
    for (std::string each; !(each = peer.read_head()).empty();) {
      inside = each;
      peer.write(kOk);
    }
  });
  ::setenv("https_proxy", ("u:p@127.0.0.1:" + std::to_string(proxy.port())).c_str(), 1);
  make_client({.ca_file = ca_});
  for (int i = 0; i < 2; ++i) {
    const auto answer = ask("https://localhost:7/x");
    ASSERT_TRUE(answer) << answer.error().message;
  }
  EXPECT_EQ(proxy.accepted(), 1u);
  EXPECT_THAT(connect, StartsWith("CONNECT localhost:7 HTTP/1.1\r\n"));
  EXPECT_THAT(connect, HasSubstr("\r\nProxy-Authorization: Basic dTpw\r\n"));
  EXPECT_THAT(inside, StartsWith("GET /x HTTP/1.1\r\nHost: localhost:7\r\n"));
  EXPECT_THAT(inside, Not(HasSubstr("Proxy-Authorization")));
  EXPECT_TRUE(ask("https://localhost.:7/x")) << "certificates have no last dot";
  EXPECT_TRUE(ask("https://else.example/x").is(Errc::kUnavailable)) << "not the server's name";

  reply = "HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n";
  const auto refused = ask("https://localhost:8/x");
  ASSERT_TRUE(refused.is(Errc::kUnavailable));
  EXPECT_THAT(refused.error().message, HasSubstr("answered 407"));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("u:p")));
  reply = "HTTP/1.1 200 Connected\r\n\r\nand something before TLS";
  EXPECT_TRUE(ask("https://localhost:9/x").is(Errc::kUnavailable));
}

TEST_F(HttpTlsTest, AServerThatIsGoneRaisesNoSignal) {
  const pki::SslContext ours = context(ours_);
  RawServer server([&](RawPeer& peer, std::size_t) {
    if (!peer.shake(ours.get())) return;
    peer.read();
    peer.reset();
  });
  make_client({.ca_file = ca_});
  HttpRequest put = request(at("localhost", server), 60s);
  put.method = "PUT";
  put.body = std::string(std::size_t{8} << 20, 'x');
  EXPECT_TRUE(ask(put).is(Errc::kAmbiguous));
}

// The errors of OpenSSL are a list for each thread, and all connections of a server share one.
TEST_F(HttpTlsTest, WhatOneClientDoesWrongIsNotHeldAgainstAnother) {
  const pki::SslContext with = context(ours_);
  std::unique_ptr<Server> server;
  std::uint16_t port = 0;
  thread_.run([&] {
    server = std::make_unique<Server>(thread_.loop(), ServerOptions{.tls = [&] { return with; }},
                                      [](const ExchangePtr& e) {
                                        e->reply({200, "text/plain", body("ok"), {}});
                                      });
    port = server->start().value();
  });
  const UniqueFd good = muster::testing::dial_loopback(port);
  const pki::SslContext trusting(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(trusting.get()), SSL_free);
  ASSERT_EQ(SSL_set_fd(ssl.get(), good.get()), 1);
  ASSERT_EQ(SSL_connect(ssl.get()), 1);
  {
    const UniqueFd bad = muster::testing::dial_loopback(port);
    const std::string nonsense = "no TLS at all\r\n\r\n";
    ASSERT_EQ(::send(bad.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(nonsense.size()));
    std::array<char, 64> alert{};
    while (::recv(bad.get(), alert.data(), alert.size(), 0) > 0) {
    }
  }
  const std::string asked = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_GT(SSL_write(ssl.get(), asked.data(), static_cast<int>(asked.size())), 0);
  std::string answer(12, ' ');
  ASSERT_GT(SSL_read(ssl.get(), answer.data(), static_cast<int>(answer.size())), 0)
      << "closed without an answer";
  EXPECT_EQ(answer, "HTTP/1.1 200");
  thread_.run([&] { server.reset(); });
}

}  // namespace client_tls_test
}  // namespace muster::http
