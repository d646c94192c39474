// What a client says about servers that cannot be used, on real sockets. A change is never said to
// have happened perhaps: none of these servers was sent one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>

#include "client/coordinator_client.h"
#include "client/tls_diagnosis.h"
#include "platform/listener.h"
#include "platform/system_clock.h"
#include "rpc/server.h"
#include "rpc/tls.h"
#include "rpc/tls_test_authority.h"

namespace muster::client {
namespace unreachable_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class UnreachableTest : public ::testing::Test {
 protected:
  UnreachableTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "muster-client-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory");
    dir_ = pattern;
    write("ca", authority_.pem());
    show(authority_.issue({"client"}, {}));
  }
  ~UnreachableTest() override {
    thread_.run([this] {
      stranger_.reset();
      strangers_.clear();
      server_.reset();
    });
    std::filesystem::remove_all(dir_);
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name, std::ios::trunc) << text;
  }
  void show(const rpc::TestPair& pair) {
    write("cert", pair.cert);
    write("key", pair.key);
  }
  /// Everybody who connects is hung up on at once.
  void serve_nobody(bool resets) {
    thread_.run([&] {
      stranger_.emplace(thread_.loop(), ListenerOptions{}, [resets](UniqueFd fd) {
        const linger now{.l_onoff = 1, .l_linger = 0};
        if (resets) ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
      });
      server_name_ = "127.0.0.1:" + std::to_string(stranger_->start().value());
    });
  }
  /// What a command is told after a failure.
  [[nodiscard]] std::string diagnosis() {
    return diagnose_tls(server_name_, files(), 5s).value_or("nothing");
  }
  /// The same for these findings.
  [[nodiscard]] std::string explained(const pki::TlsFindings& findings) {
    return explain_tls("h1:9000", files(), findings, system_wall_now()).value_or("nothing");
  }
  [[nodiscard]] TlsFiles files() const { return {dir_ / "ca", dir_ / "cert", dir_ / "key"}; }

  /// Everybody who connects is told `says`, and then perhaps hung up on.
  void serve_strangely(const std::string& says, bool hangs_up) {
    thread_.run([&] {
      stranger_.emplace(thread_.loop(), ListenerOptions{}, [this, says, hangs_up](UniqueFd fd) {
        EXPECT_EQ(::send(fd.get(), says.data(), says.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(says.size()));
        if (hangs_up) ::shutdown(fd.get(), SHUT_WR);
        strangers_.push_back(std::move(fd));
      });
      server_name_ = "127.0.0.1:" + std::to_string(stranger_->start().value());
    });
  }
  /// A server of ours, with TLS when there is a pair to show, which must not be called.
  void serve(const std::optional<rpc::TestPair>& pair, const std::string& host = "127.0.0.1",
             rpc::ConnectionBudget::Options connections = {}) {
    rpc::ServerOptions options{.host = host, .connections = connections};
    if (pair) {
      context_ = rpc::tls_context({authority_.pem(), pair->cert, pair->key}).value();
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                         nullptr);
      rpc::offer_http2(*context_);
      options.tls = [this] { return rpc::tls_from_client(*context_); };
    }
    thread_.run([&] {
      server_.emplace(thread_.loop(), options, [](const rpc::CallPtr&) { FAIL(); });
      server_name_ =
          (host == "::1" ? "[::1]" : host) + ":" + std::to_string(server_->start().value());
    });
  }

  /// What a change that may not be made twice hears.
  std::string says(const TlsFiles& tls = {}, Duration timeout = 10s) {
    const auto client = CoordinatorClient::connect(server_name_, tls);
    EXPECT_TRUE(client) << client.error().message;
    const auto answer = (*client)->call(TransferLeadership{"s2"}, {.timeout = timeout});
    EXPECT_TRUE(answer.is(Errc::kUnavailable)) << answer.error().message;
    return answer.error().message;
  }

  std::filesystem::path dir_;
  rpc::TestAuthority authority_;
  rpc::SslContext context_;
  LoopThread thread_;
  std::optional<Listener> stranger_;
  std::vector<UniqueFd> strangers_;
  std::optional<rpc::Server> server_;
  std::string server_name_;
};

TEST_F(UnreachableTest, NobodyListens) {
  serve_strangely("", false);
  thread_.run([this] { stranger_.reset(); });
  EXPECT_EQ(says(), "nothing listens at " + server_name_ +
                        "; check the address, and that musterd runs there (Connection refused)");
}

TEST_F(UnreachableTest, AnUnknownName) {
  server_name_ = "no-such-host.invalid:9000";
  EXPECT_THAT(says(),
              StartsWith("the name in no-such-host.invalid:9000 cannot be resolved; check "
                         "its spelling and DNS (no-such-host.invalid cannot be resolved: "));
}

TEST_F(UnreachableTest, AWebServer) {
  serve_strangely("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", true);
  EXPECT_EQ(says(), server_name_ +
                        " does not speak gRPC; check address and port (musterd: default 9000) "
                        "(the peer's data is not HTTP/2)");
}

TEST_F(UnreachableTest, AServerThatHangsUp) {
  serve_strangely("", true);
  EXPECT_EQ(says(), server_name_ +
                        " closes connections at once; check that it is a musterd, whether it "
                        "requires TLS (--cacert, --cert and --key), and whether it is full (its "
                        "log says so) (the peer closed the connection)");
}

TEST_F(UnreachableTest, AServerThatSaysNothing) {
  serve_strangely("", false);
  const std::string expected =
      server_name_ +
      " accepts connections and sends nothing; check that it is a musterd, its health, and whether "
      "many connections of this host wait there (its log says so) (the peer accepted the "
      "connection and sent nothing)";
  EXPECT_EQ(says({}, 100ms), expected);
  // With more time, too: a connect attempt may take 2 s.
  const MonoTime began = thread_.loop().now();
  EXPECT_EQ(says(), expected);
  EXPECT_LT(thread_.loop().now() - began, 5s);
}

TEST_F(UnreachableTest, ATlsServerWithoutTls) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  EXPECT_THAT(says(), StartsWith(server_name_ + " closes connections at once; check that it is a "
                                                "musterd, whether it requires TLS"));
}

TEST_F(UnreachableTest, AServerWithoutTlsWithTls) {
  serve(std::nullopt);
  EXPECT_EQ(says(files()),
            "no secure connection to " + server_name_ +
                "; check --cacert, --cert and --key, and that the server uses TLS (the TLS "
                "handshake failed: wrong version number)");
}

TEST_F(UnreachableTest, ACertificateThatDoesNotHoldTheName) {
  serve(authority_.issue({"elsewhere"}, {}));
  EXPECT_THAT(says(files()), HasSubstr("the TLS handshake failed: certificate verify failed (IP "
                                       "address mismatch)"));
}

TEST_F(UnreachableTest, ACertificateThatDoesNotHoldTheAddressInBrackets) {
  serve(authority_.issue({"elsewhere"}, {"::2"}), "::1");
  EXPECT_THAT(says(files()), HasSubstr("certificate verify failed (IP address mismatch)"));
}

TEST_F(UnreachableTest, AServerOfAnotherAuthority) {
  serve(rpc::TestAuthority().issue({}, {"127.0.0.1"}));
  EXPECT_THAT(says(files()), HasSubstr("certificate verify failed ("));
}

TEST_F(UnreachableTest, AClientCertificateThatTheServerRefuses) {
  serve(authority_.issue({}, {"127.0.0.1"}));
  show(rpc::TestAuthority().issue({"client"}, {}));
  EXPECT_THAT(says(files()),
              StartsWith(server_name_ + " closed the connection; check that --cert was issued by a "
                                        "CA that it trusts, and is neither revoked nor expired ("));
}

// R48
TEST_F(UnreachableTest, WhoIsHungUpOnAtOnceIsNotToldToRemoveTls) {
  for (const bool resets : {false, true}) {
    serve_nobody(resets);
    EXPECT_THAT(diagnosis(),
                AllOf(StartsWith(server_name_ + " accepted the connection and closed it at once"),
                      HasSubstr("because it is full"), Not(HasSubstr("remove --cacert"))));
    thread_.run([this] { stranger_.reset(); });
  }
}

// R48
TEST_F(UnreachableTest, AServerThatIsFullSaysSo) {
  serve(authority_.issue({}, {"127.0.0.1"}), "127.0.0.1", {.all_max = 0});
  EXPECT_EQ(diagnosis(), server_name_ +
                             " refuses the connection: the clients have as many connections open "
                             "as the server accepts");
}

// R49
TEST_F(UnreachableTest, ARefusedCertificateMayBeDueToTheServersRevocationList) {
  EXPECT_THAT(explained({.answer = pki::TlsFindings::Answer::kRefused}),
              HasSubstr("or the server has no valid revocation list"));
}

// R49
TEST_F(UnreachableTest, ThePortOfAManagedEngineIsNamedAsSuch) {
  const std::string why =
      explained({.answer = pki::TlsFindings::Answer::kRefused, .alert = "bad certificate"});
  EXPECT_THAT(
      why, AllOf(HasSubstr("(--peers)"), HasSubstr("check the port"), Not(HasSubstr("revoked"))));
}

}  // namespace unreachable_test
}  // namespace muster::client
