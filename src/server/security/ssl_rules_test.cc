#include "server/security/ssl_rules.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "platform/system_clock.h"
#include "server/security/tls_test_authority.h"

namespace muster::server {
namespace ssl_rules_test {

using OwnedContext = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;
using OwnedSsl = std::unique_ptr<SSL, void (*)(SSL*)>;

/// A server that follows the rules and a client, joined in memory.
class SslRulesTest : public ::testing::Test {
 protected:
  SslRulesTest() : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
    EXPECT_TRUE(rules_->use({server_.certificate, server_.key, ca_.pem()}).ok());
  }
  /// Whether both sides come to an end; `shown_` is what the server has seen.
  bool handshake(const TestPair* client, int version = TLS1_3_VERSION) {
    const OwnedContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    SSL_CTX_set_max_proto_version(context.get(), version);
    if (client != nullptr) {
      const auto certificate = pki::Certificate::from_pem(client->certificate).value();
      const auto key = pki::PrivateKey::from_pem(client->key).value();
      SSL_CTX_use_certificate(context.get(), certificate.get());
      SSL_CTX_use_PrivateKey(context.get(), key.get());
    }
    const OwnedSsl near(SSL_new(context.get()), SSL_free);
    const OwnedSsl far(SSL_new(context_.get()), SSL_free);
    BIO* left = nullptr;
    BIO* right = nullptr;
    EXPECT_EQ(BIO_new_bio_pair(&left, 0, &right, 0), 1);
    SSL_set_bio(near.get(), left, left);
    SSL_set_bio(far.get(), right, right);
    SSL_set_connect_state(near.get());
    SSL_set_accept_state(far.get());
    bool accepted = false;
    for (int i = 0; i < 20 && !accepted; ++i) {
      SSL_do_handshake(near.get());
      accepted = SSL_do_handshake(far.get()) == 1;
    }
    shown_ = accepted ? pki::shown_certificate(*far) : "";
    const std::unique_ptr<X509, void (*)(X509*)> theirs(SSL_get1_peer_certificate(near.get()),
                                                        X509_free);
    saw_new_ = theirs && renewed_ &&
               X509_cmp(theirs.get(), pki::Certificate::from_pem(*renewed_)->get()) == 0;
    return accepted;
  }

  const WallTime now_ = std::chrono::floor<std::chrono::seconds>(system_wall_now()) - 1h;
  const TestAuthority ca_{now_};
  const TestPair server_ = ca_.issue("s1", {"muster:role:server"});
  const TestPair client_ = ca_.issue("op", {"muster:role:admin"});
  bool good_ = true;
  std::shared_ptr<SslRules> rules_ =
      std::make_shared<SslRules>([this](std::string_view, const std::string&) {
        return good_ ? Status(Done{}) : Status(Errc::kDenied, "revoked");
      });
  OwnedContext context_;
  std::string shown_;
  std::optional<std::string> renewed_;
  bool saw_new_ = false;
};

TEST_F(SslRulesTest, WhoeverMustShowACertificateIsRefusedWithoutOne) {
  ASSERT_TRUE(rules_->apply(*context_, true));
  EXPECT_FALSE(handshake(nullptr));
  EXPECT_TRUE(handshake(&client_));
  EXPECT_EQ(shown_, client_.certificate);
}

TEST_F(SslRulesTest, AListenerForProbesLetsThemInWithoutOne) {
  ASSERT_TRUE(rules_->apply(*context_, false));
  EXPECT_TRUE(handshake(nullptr));
  EXPECT_EQ(shown_, "");
  const TestAuthority other(now_, "Other CA");
  const TestPair stranger = other.issue("op", {"muster:role:admin"});
  EXPECT_FALSE(handshake(&stranger));
}

// P11: no listener goes without the revocation list.
TEST_F(SslRulesTest, ACertificateThatCountsNoMoreIsRefused) {
  ASSERT_TRUE(rules_->apply(*context_, true));
  good_ = false;
  EXPECT_FALSE(handshake(&client_));
  good_ = true;
  EXPECT_TRUE(handshake(&client_));
}

TEST_F(SslRulesTest, OlderVersionsAreRefused) {
  ASSERT_TRUE(rules_->apply(*context_, false));
  EXPECT_FALSE(handshake(&client_, TLS1_2_VERSION));
}

// P11: certificate, key and authorities are those in force at the handshake.
TEST_F(SslRulesTest, NewCredentialsCountFromTheNextHandshakeOn) {
  ASSERT_TRUE(rules_->apply(*context_, true));
  EXPECT_TRUE(handshake(&client_));
  const TestAuthority other(now_, "Other CA");
  const TestPair renewed = other.issue("s1", {"muster:role:server"});
  renewed_ = renewed.certificate;
  ASSERT_TRUE(rules_->use({renewed.certificate, renewed.key, other.pem()}).ok());
  EXPECT_FALSE(handshake(&client_));
  const TestPair fresh = other.issue("op", {"muster:role:admin"});
  EXPECT_TRUE(handshake(&fresh));
  EXPECT_TRUE(saw_new_);
}

}  // namespace ssl_rules_test
}  // namespace muster::server
