#include "rpc/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>

#include "platform/pki/socket_bio.h"
#include "rpc/channel.h"
#include "rpc/server.h"
#include "rpc/tls_test_authority.h"

namespace muster::rpc {
namespace tls_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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
  void show(const TestPair& pair) {
    write("cert", pair.cert);
    write("key", pair.key);
  }

  void serve(const TestPair& pair, int version = TLS1_3_VERSION) {
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
    auto tls = open_client_tls(files_, tls12);
    EXPECT_TRUE(tls);
    return ask(host, *tls, size);
  }
  Outcome ask(const std::string& host, const std::shared_ptr<ClientTls>& tls, std::size_t size) {
    ChannelOptions options{.host = host, .port = port_};
    options.tls = [tls, host] { return tls->to(host); };
    return ask_at(options, size);
  }
  Outcome ask_at(const ChannelOptions& options, std::size_t size) {
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
  TestAuthority authority_;
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
  EXPECT_EQ(outcome.trouble.kind, Trouble::Kind::kTls);
  EXPECT_EQ(outcome.trouble.text,
            "the TLS handshake failed: certificate verify failed (IP address mismatch)");
}

TEST_F(RpcTlsTest, ANameIsCheckedLikeAnAddress) {
  serve(authority_.issue({"localhost"}, {}));
  EXPECT_TRUE(ask("localhost").ok());
}

TEST_F(RpcTlsTest, WhoeverIsUnknownIsNotLetIn) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  show(TestAuthority().issue({"client"}, {}));
  const Outcome outcome = ask("127.0.0.1");
  EXPECT_FALSE(outcome.ok());
  // The handshake is over for the client before the server has looked at its certificate.
  EXPECT_EQ(outcome.word, Outcome::Word::kNeverLeft);
  EXPECT_EQ(outcome.trouble.kind, Trouble::Kind::kTurnedAway) << outcome.message;
  EXPECT_THAT(certificates_, ::testing::IsEmpty());
}

TEST_F(RpcTlsTest, WhoeverComesWithoutTlsIsHungUpOn) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  const Outcome outcome = ask_at(ChannelOptions{.host = "127.0.0.1", .port = port_}, 10);
  EXPECT_EQ(outcome.word, Outcome::Word::kNeverLeft);
  EXPECT_EQ(outcome.trouble.kind, Trouble::Kind::kClosed) << outcome.message;
}

TEST_F(RpcTlsTest, AServerWithoutTlsIsNotUnderstood) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  Server plain(loop_, ServerOptions{}, [](const CallPtr&) { FAIL(); });
  port_ = plain.start().value();
  const Outcome outcome = ask("127.0.0.1");
  EXPECT_EQ(outcome.word, Outcome::Word::kNeverLeft);
  EXPECT_EQ(outcome.trouble.kind, Trouble::Kind::kTls);
  EXPECT_EQ(outcome.trouble.text, "the TLS handshake failed: wrong version number");
}

TEST_F(RpcTlsTest, AServerThatDoesNotOfferHttp2IsNone) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  SSL_CTX_set_alpn_select_cb(context_.get(), nullptr, nullptr);
  const Outcome outcome = ask("127.0.0.1");
  EXPECT_EQ(outcome.word, Outcome::Word::kNeverLeft);
  EXPECT_EQ(outcome.trouble.kind, Trouble::Kind::kNotGrpc);
  EXPECT_EQ(outcome.trouble.text, "TLS did not agree on HTTP/2");
}

TEST_F(RpcTlsTest, TheOlderTlsIsRefusedUnlessAllowed) {
  serve(authority_.issue({}, {"127.0.0.1"}), TLS1_2_VERSION);
  EXPECT_FALSE(ask("127.0.0.1").ok());
  EXPECT_TRUE(ask("127.0.0.1", 10, true).ok());
}

// The programs ignore the signal; those that use the library need not.
TEST_F(RpcTlsTest, WritingToWhoeverIsGoneRaisesNoSignal) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
  const UniqueFd here(sockets[0]);
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(pki::new_socket_bio(here.get()), BIO_free);
  ASSERT_EQ(BIO_write(bio.get(), "x", 1), 1);
  ::close(sockets[1]);
  EXPECT_LT(BIO_write(bio.get(), "x", 1), 0);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_EQ(BIO_should_retry(bio.get()), 0);
}

TEST_F(RpcTlsTest, FilesAreLookedAtForEachConnection) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  const auto tls = open_client_tls(files_).value();
  EXPECT_TRUE(ask("127.0.0.1", tls, 10).ok());
  const TestPair next = authority_.issue({"another"}, {});
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
