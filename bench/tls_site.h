#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "core/security/identity.h"
#include "platform/system_clock.h"
#include "server/security/tls_test_authority.h"

namespace muster::bench {

/// An authority with one server and one agent.
struct Site {
  Site() : now(std::chrono::floor<std::chrono::seconds>(system_wall_now()) - 1h), ca(now) {
    pki::CertificateOrder wanted{
        "s1", {security::kServerName}, {"127.0.0.1"}, {"muster:role:server"}};
    wanted.use = pki::CertificateOrder::Use::kServerAndClient;
    server = issue(wanted);
    agent = issue({"a1", {}, {"10.0.0.1"}, {"muster:role:agent", "muster:carries:n*"}});
    directory.write("s1.crt", server.certificate);
    directory.write("s1.key", server.key);
    directory.write("ca.crt", ca.pem());
    directory.write("crl", ca.list({"1", "2", "3"}));
  }
  [[nodiscard]] server::TestPair issue(pki::CertificateOrder wanted) const {
    wanted.not_before = now;
    wanted.not_after = now + 24h;
    return ca.issue(wanted);
  }
  [[nodiscard]] std::vector<std::string> words() const {
    return {"--cert",   directory.file("s1.crt"), "--key",      directory.file("s1.key"),
            "--cacert", directory.file("ca.crt"), "--crl-file", directory.file("crl")};
  }

  WallTime now;
  server::TestDirectory directory;
  server::TestAuthority ca;
  server::TestPair server;
  server::TestPair agent;
};

/// What asking about one call costs.
void measure_check(Report& report, const Site& site);

}  // namespace muster::bench
