#include "server/web/http_guard.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "core/security/identity.h"
#include "platform/event_loop.h"
#include "platform/testing/loopback.h"
#include "platform/unique_fd.h"
#include "server/security/tls_test_authority.h"

namespace muster::server {
namespace http_guard_test {

/// A server that says hello over TLS to anyone who asks, and blocking clients of it.
class HttpsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_DFL);
    const TestPair own = issue("s1", "server", {security::kServerName});
    directory_.write("s1.crt", own.certificate);
    directory_.write("s1.key", own.key);
    directory_.write("ca.crt", ca_.pem());
    TlsKeeper::Options options;
    options.files = {
        directory_.file("s1.crt"), directory_.file("s1.key"), directory_.file("ca.crt"), {}};
    options.server_id = "s1";
    tls_ = std::make_unique<TlsKeeper>(loop_, options);
    ASSERT_TRUE(tls_->start().ok());
    http::ServerOptions listen;
    listen.tls = [context = http_context(*tls_)] { return context; };
    thread_.run([&] {
      server_ = std::make_unique<http::Server>(
          thread_.loop(), listen, [](const http::ExchangePtr& exchange) {
            exchange->reply({200, "text/plain", http::body("hello"), {}});
          });
      port_ = server_->start().value();
    });
  }
  void TearDown() override {
    thread_.run([&] { server_.reset(); });
  }
  TestPair issue(const std::string& id, const std::string& role, std::vector<std::string> names) {
    pki::CertificateOrder order{id, std::move(names), {}, {"muster:role:" + role}};
    order.use = pki::CertificateOrder::Use::kServerAndClient;
    order.not_before = loop_.wall_now() - 1h;
    order.not_after = loop_.wall_now() + 1h;
    return ca_.issue(order);
  }
  using Client = std::unique_ptr<SSL, decltype(&SSL_free)>;
  static Client connect(const UniqueFd& fd, const TestPair* shown) {
    const http::TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    if (shown != nullptr) {
      const auto certificate = pki::Certificate::from_pem(shown->certificate).value();
      const auto key = pki::PrivateKey::from_pem(shown->key).value();
      SSL_CTX_use_certificate(context.get(), certificate.get());
      SSL_CTX_use_PrivateKey(context.get(), key.get());
    }
    Client client(SSL_new(context.get()), SSL_free);
    SSL_set_fd(client.get(), fd.get());
    EXPECT_EQ(SSL_connect(client.get()), 1);
    return client;
  }
  static void ask(const Client& client) {
    const std::string request = "GET / HTTP/1.1\r\n\r\n";
    EXPECT_GT(SSL_write(client.get(), request.data(), static_cast<int>(request.size())), 0);
  }
  /// Until `end` was read, or the connection ended.
  static std::string read_until(const Client& client, const std::string& end) {
    std::string bytes;
    char one = 0;
    while ((end.empty() || !bytes.ends_with(end)) && SSL_read(client.get(), &one, 1) == 1) {
      bytes += one;
    }
    return bytes;
  }

  EventLoop loop_;
  const TestAuthority ca_{std::chrono::floor<std::chrono::seconds>(loop_.wall_now()) - 1h};
  const TestDirectory directory_;
  std::unique_ptr<TlsKeeper> tls_;
  LoopThread thread_;
  std::unique_ptr<http::Server> server_;
  std::uint16_t port_ = 0;
};

TEST_F(HttpsTest, WhoShowsNoCertificateIsAnsweredOnceAndWhoDoesMayAskOn) {
  const UniqueFd strangers = testing::dial_loopback(port_);
  const Client stranger = connect(strangers, nullptr);
  ask(stranger);
  const std::string answer = read_until(stranger, "");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("hello"));
  const TestPair reader = issue("r1", "reader", {});
  const UniqueFd readers = testing::dial_loopback(port_);
  const Client known = connect(readers, &reader);
  for (int i = 0; i < 2; ++i) {
    ask(known);
    EXPECT_TRUE(read_until(known, "hello").ends_with("hello"));
  }
}

// Whatever is still to be said to it must not end the process, as a write to nobody does by
// default.
TEST_F(HttpsTest, AClientThatGoesWithoutAWordTakesNobodyWithIt) {
  const TestPair reader = issue("r1", "reader", {});
  UniqueFd fd = testing::dial_loopback(port_);
  const Client client = connect(fd, &reader);
  ask(client);
  read_until(client, "hello");
  const linger at_once{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  fd.reset();
  for (bool gone = false; !gone;) thread_.run([&] { gone = server_->connections() == 0; });
}

TEST_F(HttpsTest, WhoSendsNoMoreHasItsAnswer) {
  const TestPair reader = issue("r1", "reader", {});
  const UniqueFd fd = testing::dial_loopback(port_);
  const Client client = connect(fd, &reader);
  ask(client);
  SSL_shutdown(client.get());
  EXPECT_TRUE(read_until(client, "").ends_with("hello"));
}

}  // namespace http_guard_test
}  // namespace muster::server
