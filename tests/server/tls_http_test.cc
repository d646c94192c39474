#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/server/tls_scene.h"

namespace muster::testing {
namespace {

/// A server's HTTP listener, asked by curl.
class TlsHttpTest : public TlsScene {
 protected:
  TlsHttpTest() {
    for (const char* role : {"admin", "reader", "node"}) write(role, client(role, role));
  }
  std::unique_ptr<Musterd> serve() {
    return start(
        "s1", {"--crl-file", file("crl"), "--http-listen", "127.0.0.1:" + std::to_string(port_)});
  }
  /// The status of the answer; "000" when there was none.
  [[nodiscard]] std::string get(const std::string& path, const std::string& id,
                                const std::string& more = "", const char* scheme = "https") const {
    const std::string shown =
        id.empty() ? "" : " --cert " + file(id + ".crt") + " --key " + file(id + ".key");
    run_program({"sh", "-c",
                 "curl -s --max-time 20 -o /dev/null -w '%{http_code}' --cacert " + file("ca.crt") +
                     shown + " " + more + " " + scheme + "://127.0.0.1:" + std::to_string(port_) +
                     path + " >" + file("code")});
    std::ostringstream code;
    code << std::ifstream(file("code")).rdbuf();
    return code.str();
  }

  int port_ = free_port();
};

// T21: the page, the API and the metrics are for people; probes need no certificate.
TEST_F(TlsHttpTest, TheRoleDecidesWhatIsShownAndProbesNeedNoCertificate) {
  const auto server = serve();
  EXPECT_EQ(get("/metrics", "reader"), "200");
  EXPECT_EQ(get("/metrics", "admin"), "200");
  EXPECT_EQ(get("/metrics", "node"), "403");
  EXPECT_EQ(get("/metrics", ""), "403");
  EXPECT_EQ(get("/healthz", ""), "200");
}

// T21, P11: this listener asks what gRPC's asks.
TEST_F(TlsHttpTest, OnlyCertificatesThatCountAreLetIn) {
  const auto server = serve();
  ASSERT_EQ(get("/healthz", "reader"), "200");
  EXPECT_EQ(get("/healthz", "reader", "--tls-max 1.2"), "000");
  EXPECT_EQ(get("/healthz", "", "", "http"), "000") << "plaintext";
  const server::TestAuthority other(now_, "Test CA");
  write("stranger", other.issue(order("reader", "r1")));
  EXPECT_EQ(get("/healthz", "stranger"), "000") << "another authority";
  pki::CertificateOrder expired = order("reader", "r1");
  expired.not_after = now_ + 59min;
  write("expired", ca_.issue(expired));
  EXPECT_EQ(get("/healthz", "expired"), "000");
  pki::CertificateOrder early = order("reader", "r1");
  early.not_before = now_ + 2h;
  write("early", ca_.issue(early));
  EXPECT_EQ(get("/healthz", "early"), "000") << "not yet valid";

  const Pair revoked = client("reader", "r2");
  write("revoked", revoked);
  EXPECT_EQ(get("/metrics", "revoked"), "200");
  write_file("crl", next_list({revoked.serial}));
  server->reload();
  EXPECT_TRUE(eventually([&] { return get("/metrics", "revoked") == "000"; }));
  EXPECT_EQ(get("/metrics", "reader"), "200");
}

}  // namespace
}  // namespace muster::testing
