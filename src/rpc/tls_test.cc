#include "rpc/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/pki/issue.h"
#include "platform/system_clock.h"
#include "rpc/channel.h"
#include "rpc/server.h"

namespace muster::rpc {
namespace tls_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Pair {
  std::string cert;
  std::string key;
};

/// An authority and what it vouches for.
class Authority {
 public:
  Authority() {
    order_.common_name = "Test CA";
    order_.use = pki::CertificateOrder::Use::kAuthority;
    order_.not_before = std::chrono::floor<std::chrono::seconds>(system_wall_now()) - 1h;
    order_.not_after = order_.not_before + 48h;
    own_.emplace(pki::issue_authority(order_, key_).value());
  }
  [[nodiscard]] std::string pem() const { return own_->to_pem(); }
  [[nodiscard]] Pair issue(std::vector<std::string> names, std::vector<std::string> addresses) {
    const auto key = pki::PrivateKey::generate(pki::KeyType::kEcP256).value();
    pki::CertificateOrder order = order_;
    order.common_name = "someone";
    order.use = pki::CertificateOrder::Use::kServerAndClient;
    order.dns_names = std::move(names);
    order.ip_addresses = std::move(addresses);
    return {pki::issue(order, key, *own_, key_).value().to_pem(), key.to_pem()};
  }

 private:
  pki::PrivateKey key_ = pki::PrivateKey::generate(pki::KeyType::kEcP256).value();
  pki::CertificateOrder order_;
  std::optional<pki::Certificate> own_;
};

/// A server that answers every call with its request, and a client beside it.
class RpcTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-rpc-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    files_ = {write("ca", authority_.pem()), dir_ + "/cert", dir_ + "/key"};
    show(authority_.issue({"client"}, {}));
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ + "/" + name, std::ios::trunc) << text;
    return dir_ + "/" + name;
  }
  void show(const Pair& pair) {
    write("cert", pair.cert);
    write("key", pair.key);
  }

  void serve(const Pair& pair, int version = TLS1_3_VERSION) {
    context_ = tls_context({authority_.pem(), pair.cert, pair.key}, true).value();
    SSL_CTX_set_max_proto_version(context_.get(), version);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    offer_http2(*context_);
    ServerOptions options;
    options.tls = [this] { return tls_from_client(*context_); };
    server_.emplace(loop_, options, [this](const CallPtr& call) {
      certificates_.emplace_back(call->certificate());
      call->read([call](std::optional<std::string> bytes) {
        call->reply(payload(std::move(bytes).value_or("")));
      });
    });
    port_ = server_->start().value();
  }

  Outcome ask(const std::string& host, std::size_t size = 10, bool tls12 = false) {
    auto tls = ClientTls::open(files_, tls12);
    EXPECT_TRUE(tls);
    return ask(host, *tls, size);
  }
  Outcome ask(const std::string& host, const std::shared_ptr<ClientTls>& tls, std::size_t size) {
    ChannelOptions options{.host = host, .port = port_};
    options.tls = [tls, host] { return tls->to(host); };
    SendTurn turn(loop_);
    Channel channel(loop_, turn, options, Random(1));
    std::optional<Outcome> outcome;
    std::string answer;
    const auto call = channel.start("/a.B/C", loop_.now() + 20s, {},
                                    {[&](std::string message) { answer = std::move(message); },
                                     [&](const Outcome& end) { outcome = end; }});
    call->send(payload(std::string(size, 'x')));
    call->finish();
    while (!outcome) loop_.run_until(loop_.now() + 1ms);
    EXPECT_EQ(answer.size(), outcome->ok() ? size : 0);
    return *outcome;
  }

  EventLoop loop_;
  Authority authority_;
  std::string dir_;
  TlsFiles files_;
  SslContext context_;
  std::optional<Server> server_;
  std::uint16_t port_ = 0;
  std::vector<std::string> certificates_;
};

TEST_F(RpcTlsTest, BothSidesShowWhoTheyAre) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  const Outcome outcome = ask("127.0.0.1");
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  ASSERT_EQ(certificates_.size(), 1U);
  EXPECT_THAT(certificates_[0], StartsWith("-----BEGIN CERTIFICATE-----"));
}

TEST_F(RpcTlsTest, LongMessagesAreCutIntoWhatTheSocketTakes) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  const Outcome outcome = ask("127.0.0.1", 1'900'000);
  EXPECT_TRUE(outcome.ok()) << outcome.message;
}

TEST_F(RpcTlsTest, AServerMustHoldTheNameThatWasAsked) {
  serve(authority_.issue({"elsewhere"}, {"127.0.0.2"}));
  const Outcome outcome = ask("127.0.0.1");
  EXPECT_EQ(outcome.code, Code::kUnavailable);
  EXPECT_EQ(outcome.word, Outcome::Word::kNeverLeft);
  EXPECT_THAT(outcome.message, HasSubstr("certificate verify failed"));
}

TEST_F(RpcTlsTest, ANameIsCheckedLikeAnAddress) {
  serve(authority_.issue({"localhost"}, {}));
  EXPECT_TRUE(ask("localhost").ok());
}

TEST_F(RpcTlsTest, WhoeverIsUnknownIsNotLetIn) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  show(Authority().issue({"client"}, {}));
  const Outcome outcome = ask("127.0.0.1");
  EXPECT_FALSE(outcome.ok());
  EXPECT_NE(outcome.word, Outcome::Word::kServer);
  EXPECT_THAT(certificates_, ::testing::IsEmpty());
}

TEST_F(RpcTlsTest, TheOlderTlsIsRefusedUnlessAllowed) {
  serve(authority_.issue({}, {"127.0.0.1"}), TLS1_2_VERSION);
  EXPECT_FALSE(ask("127.0.0.1").ok());
  EXPECT_TRUE(ask("127.0.0.1", 10, true).ok());
}

TEST_F(RpcTlsTest, FilesAreLookedAtForEachConnection) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  const auto tls = ClientTls::open(files_).value();
  EXPECT_TRUE(ask("127.0.0.1", tls, 10).ok());
  const Pair next = authority_.issue({"another"}, {});
  write("cert", next.cert);
  // The certificate of one and the key of another: the former are used.
  EXPECT_TRUE(ask("127.0.0.1", tls, 10).ok());
  write("key", next.key);
  EXPECT_TRUE(ask("127.0.0.1", tls, 10).ok());
  ASSERT_EQ(certificates_.size(), 3U);
  EXPECT_EQ(certificates_[0], certificates_[1]);
  EXPECT_NE(certificates_[1], certificates_[2]);
}

}  // namespace tls_test
}  // namespace muster::rpc
