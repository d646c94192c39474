#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/security/permissions.h"
#include "tests/server/tls_scene.h"

namespace muster::testing {
namespace tls_http_test {

/// A server's HTTP listener, asked by curl.
class TlsHttpTest : public TlsScene {
 protected:
  TlsHttpTest() {
    for (const security::Role role : security::kRoles) {
      pki::CertificateOrder wanted = order(to_string(role), to_string(role));
      if (role == security::Role::kAgent) wanted.uris.emplace_back("muster:carries:x1");
      write(to_string(role), ca_.issue(wanted));
    }
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
                 "curl -s --max-time 20 -o " + file("body") + " -w '%{http_code}' --cacert " +
                     file("ca.crt") + shown + " " + more + " " + scheme +
                     "://127.0.0.1:" + std::to_string(port_) + path + " >" + file("code")});
    return text("code");
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }

  int port_ = free_port();
};

// T21: the page, the API and the metrics are for people; probes need no certificate.
TEST_F(TlsHttpTest, TheRoleDecidesWhatIsShownAndProbesNeedNoCertificate) {
  const auto server = serve();
  EXPECT_EQ(get("/metrics", "reader"), "200");
  EXPECT_EQ(get("/healthz", ""), "200");
  // The rest of the table: what is let in may not be there, but it is not refused.
  for (const security::Permission& row : security::permissions()) {
    if (row.call < security::Call::kHttpPage) continue;
    const std::string path(row.name);
    EXPECT_EQ(get(path, "") != "403", security::allowed_without_certificate(row.call)) << path;
    for (const security::Role role : security::kRoles) {
      const std::string code = get(path, to_string(role));
      EXPECT_NE(code, "000") << path << " " << to_string(role);
      EXPECT_EQ(code != "403", security::allowed(role, row.call) ||
                                   security::allowed_without_certificate(row.call))
          << path << " " << to_string(role) << ": " << code;
    }
  }
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

// R49
TEST_F(TlsHttpTest, AServerWithoutAValidRevocationListIsNotReadyAndSaysWhy) {
  write_file("crl", "no list");
  const auto server = start(
      "s1", {"--crl-file", file("crl"), "--http-listen", "127.0.0.1:" + std::to_string(port_)},
      false);
  ASSERT_TRUE(eventually([&] { return get("/readyz", "") == "503"; }));
  EXPECT_NE(text("body").find("every certificate is refused: there is no revocation list yet"),
            std::string::npos)
      << text("body");
  EXPECT_FALSE(lets_in(*server, admin_));
  EXPECT_TRUE(eventually([&] {
    return server->log().find("a handshake was refused remote=127.0.0.1 ") != std::string::npos;
  })) << server->log();
  write_file("crl", next_list({}));
  server->reload();
  EXPECT_TRUE(eventually([&] { return get("/readyz", "") == "200"; })) << text("body");
}

}  // namespace tls_http_test
}  // namespace muster::testing
