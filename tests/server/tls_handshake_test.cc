#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/server/tls_scene.h"

namespace muster::testing {
namespace tls_handshake_test {

using grpc::StatusCode;
using ::testing::HasSubstr;

class TlsHandshakeTest : public TlsScene {
 protected:
  static int s_client(const Musterd& server, const std::string& more) {
    return run_program({"sh", "-c",
                        "timeout 30 openssl s_client -connect " + server.address() + " " + more +
                            " </dev/null >/dev/null 2>&1"});
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream bytes;
    bytes << std::ifstream(file(name)).rdbuf();
    return bytes.str();
  }
};

// T21: each of these is refused in a real handshake.
TEST_F(TlsHandshakeTest, OnlyCertificatesThatCountAreLetIn) {
  const Pair revoked = client("node", "n1");
  write_file("crl", next_list({revoked.serial}));
  const auto server = start("s1", {"--crl-file", file("crl")});
  EXPECT_TRUE(lets_in(*server, client("node", "n1")));
  EXPECT_TRUE(lets_in(*server, client("reader", "r1")));

  EXPECT_EQ(ask(*server, std::nullopt).error_code(), StatusCode::UNAVAILABLE) << "plaintext";
  EXPECT_EQ(ask(*server, ClientPem{ca_.pem(), "", ""}).error_code(), StatusCode::UNAVAILABLE)
      << "no certificate";
  EXPECT_FALSE(lets_in(*server, revoked)) << "revoked before";

  const server::TestAuthority other(now_, "Test CA");
  EXPECT_FALSE(lets_in(*server, other.issue(order("node", "n1")))) << "another authority";
  pki::CertificateOrder expired = order("node", "n1");
  expired.not_after = now_ + 59min;
  EXPECT_FALSE(lets_in(*server, ca_.issue(expired))) << "expired";
  pki::CertificateOrder early = order("node", "n1");
  early.not_before = now_ + 2h;
  EXPECT_FALSE(lets_in(*server, ca_.issue(early))) << "not yet valid";
  pki::CertificateOrder nameless = order("node", "n1");
  nameless.uris.clear();
  EXPECT_FALSE(lets_in(*server, ca_.issue(nameless))) << "no role";
  pki::CertificateOrder odd = order("node", "not an id");
  EXPECT_FALSE(lets_in(*server, ca_.issue(odd))) << "a common name that is no id";
}

// Each made by openssl, as another authority's program might make them.
TEST_F(TlsHandshakeTest, AWildcardNameOrNoStatedUseIsRefused) {
  write_file("ca.key", ca_.key_pem());
  const auto made = [this](const std::string& names, const std::string& uses) {
    write_file("ext", "subjectAltName=URI:muster:role:node" + names + "\n" +
                          (uses.empty() ? "" : "extendedKeyUsage=" + uses + "\n"));
    EXPECT_EQ(
        run_program({"sh", "-ec",
                     "cd \"$0\"; openssl req -newkey ec -pkeyopt "
                     "ec_paramgen_curve:P-256 -nodes -keyout made.key -subj /CN=n1 2>openssl.log |"
                     "openssl x509 -req -CA ca.crt -CAkey ca.key -days 1 -extfile ext "
                     "-out made.crt 2>>openssl.log",
                     dir_.path().string()}),
        0);
    return Pair{read("made.crt"), read("made.key"), {}};
  };
  const auto server = start("s1");
  EXPECT_TRUE(lets_in(*server, made(",DNS:n1.example", "clientAuth")));
  EXPECT_FALSE(lets_in(*server, made(",DNS:n1.example", ""))) << "no extended key usage";
  EXPECT_FALSE(lets_in(*server, made(",DNS:n1.example", "serverAuth"))) << "another use";
  EXPECT_FALSE(lets_in(*server, made(",DNS:n1.example", "codeSigning"))) << "another use";
  EXPECT_FALSE(lets_in(*server, made(",DNS:n1.example,DNS:*.example", "clientAuth"))) << "wildcard";
  EXPECT_THAT(server->log(), HasSubstr("lacks the extended key usage clientAuth"));
  EXPECT_THAT(server->log(), HasSubstr("wildcard name"));
}

TEST_F(TlsHandshakeTest, OlderTlsAndPlaintextAreRefused) {
  const auto server = start("s1");
  write("op", admin_);
  const std::string shown = "-alpn h2 -verify_return_error -CAfile " + file("ca.crt") + " -cert " +
                            file("op.crt") + " -key " + file("op.key");
  EXPECT_EQ(s_client(*server, "-tls1_3 " + shown), 0);
  EXPECT_EQ(s_client(*server, "-tls1_2 " + shown), 1);
  // With every suite that there is, weak ones included.
  EXPECT_EQ(s_client(*server, "-tls1_2 -cipher ALL:COMPLEMENTOFALL:@SECLEVEL=0 " + shown), 1);
  // A request in plaintext gets no answer, whatever it is.
  EXPECT_NE(run_program({"curl", "-s", "--max-time", "10", "-o", "/dev/null",
                         "--http2-prior-knowledge", "http://" + server->address() + "/"}),
            0);
}

TEST_F(TlsHandshakeTest, AServerAtAnotherAddressThanItsCertificateSaysIsNotBelieved) {
  write("s1", server_pair("s1", "10.9.9.9"));
  const auto server = start("s1", {}, false);
  ASSERT_TRUE(eventually([&] { return server->log().find("mutual TLS") != std::string::npos; }));
  EXPECT_EQ(ask(*server, pem(admin_)).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(TlsHandshakeTest, AServerStartsOnlyWithItsOwnCertificate) {
  const auto refusal = [this](const std::string& id) {
    const auto server = start(id, {}, false);
    EXPECT_EQ(server->wait(), 70);
    return server->log();
  };
  write("s3", server_pair("s4"));
  EXPECT_THAT(refusal("s3"), HasSubstr("--cert is the certificate of server s4, but --id is s3"));
  write("s5", client("node", "s5"));
  EXPECT_THAT(refusal("s5"), HasSubstr("a server needs one with the role server"));
}

}  // namespace tls_handshake_test
}  // namespace muster::testing
