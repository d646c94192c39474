#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/security/identity.h"
#include "tests/server/tls_scene.h"

// Each mistake with TLS that people make has a sentence of its own, which names the file, the date
// or the name concerned: tried by `muster` against a real server.
namespace muster::testing {
namespace tls_mistakes_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsMistakesTest : public TlsScene {
 protected:
  TlsMistakesTest() {
    write("op", admin_);
    write_file("other-ca.crt", other_.pem());
  }
  /// What `muster health` says on standard error, and that it fails.
  std::string says(const Musterd& server, const std::vector<std::string>& more) const {
    return says(server.address(), more);
  }
  std::string says(const std::string& address, const std::vector<std::string>& more) const {
    const auto [code, text] = run(address, more);
    EXPECT_NE(code, 0) << text;
    return text;
  }
  static std::pair<int, std::string> run(const std::string& address,
                                         const std::vector<std::string>& more,
                                         const std::string& command = "health") {
    ChildProcess muster(
        {"sh", "-c", "timeout 30 " + line(command, address, more) + " 2>&1 >/dev/null"});
    std::string all;
    for (std::string line = muster.read_line(); !line.empty(); line = muster.read_line()) {
      all += line + "\n";
    }
    return {muster.finish(), all};
  }
  static std::string line(const std::string& command, const std::string& address,
                          const std::vector<std::string>& more) {
    std::string words = MUSTER_PROGRAM " " + command + " --timeout 3s --server " + address;
    for (const std::string& word : more) words += " " + word;
    return words;
  }
  /// An agent, which goes on trying until it is ended after 8 s: its standard error.
  std::unique_ptr<ChildProcess> agent(const Musterd& server,
                                      const std::vector<std::string>& more) const {
    const std::string words = line("node register n1 --address 10.0.0.7 --port 7000 --keep-alive",
                                   server.address(), more);
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{"sh", "-c", "timeout 8 " + words + " 2>&1 >/dev/null"});
  }
  std::vector<std::string> shown(const std::string& id, const std::string& ca = "ca.crt") const {
    return {"--cacert", file(ca), "--cert", file(id + ".crt"), "--key", file(id + ".key")};
  }

  const server::TestAuthority other_{now_, "Other CA"};
};

TEST_F(TlsMistakesTest, WithoutTlsOptionsTheServersTlsIsNamed) {
  const auto server = start("s1");
  EXPECT_THAT(says(*server, {}), AllOf(HasSubstr("uses TLS (its CA is CN=Test CA)"),
                                       HasSubstr("give --cacert, --cert and --key")));
}

TEST_F(TlsMistakesTest, TlsOptionsForAServerWithoutTlsAreNamed) {
  Musterd server("s9", "file://" + file("plain"), dir_.path());
  EXPECT_THAT(says(server, shown("op")), HasSubstr("does not use TLS; remove --cacert"));
}

TEST_F(TlsMistakesTest, ANameThatIsNotInTheCertificateIsNamedWithThoseThatAre) {
  write("s1", server_pair("s1", "10.9.9.9"));
  const auto server = start("s1", {}, false);
  ASSERT_TRUE(eventually([&] { return server->log().find("mutual TLS") != std::string::npos; }));
  EXPECT_THAT(says(*server, shown("op")),
              AllOf(HasSubstr("does not hold the name 127.0.0.1"), HasSubstr("10.9.9.9"),
                    HasSubstr("--san 127.0.0.1")));
}

TEST_F(TlsMistakesTest, AnExpiredClientCertificateIsNamedWithItsFileAndDate) {
  pki::CertificateOrder order = this->order("admin", "old");
  order.not_after = now_ + 59min;
  write("old", ca_.issue(order));
  const auto server = start("s1");
  EXPECT_THAT(says(*server, shown("old")),
              AllOf(HasSubstr(file("old.crt")), HasSubstr("expired on 20"), HasSubstr("UTC"),
                    HasSubstr("issue a new client certificate")));
}

TEST_F(TlsMistakesTest, AnExpiredServerCertificateIsNamedWithItsDate) {
  // Takes about 6 s: no server starts with one, so it expires while the server runs.
  pki::CertificateOrder order = this->order("server", "s1");
  order.dns_names = {security::kServerName};
  order.ip_addresses = {"127.0.0.1"};
  order.use = pki::CertificateOrder::Use::kServerAndClient;
  order.not_after = std::chrono::ceil<std::chrono::seconds>(now_ + 1h + 4s);
  write("s1", ca_.issue(order));
  const auto server = start("s1");
  EXPECT_TRUE(eventually([&] {
    return run(server->address(), shown("op")).second.find("expired") != std::string::npos;
  }));
  EXPECT_THAT(says(*server, shown("op")),
              AllOf(HasSubstr("the certificate of 127.0.0.1:"), HasSubstr("(CN=s1) expired on 20"),
                    HasSubstr("replace it on that server")));
}

TEST_F(TlsMistakesTest, AServerOfAnotherAuthorityIsNamedWithBothAndTheFile) {
  const auto server = start("s1");
  EXPECT_THAT(says(*server, shown("op", "other-ca.crt")),
              AllOf(HasSubstr("was issued by CN=Test CA"), HasSubstr(file("other-ca.crt")),
                    HasSubstr("--cacert")));
}

TEST_F(TlsMistakesTest, AClientOfAnotherAuthorityIsNamedWithItsFile) {
  write("stranger", other_.issue(order("admin", "op")));
  const auto server = start("s1");
  EXPECT_THAT(says(*server, shown("stranger")),
              AllOf(HasSubstr(file("stranger.crt")), HasSubstr("was issued by CN=Other CA"),
                    HasSubstr("does not trust")));
}

TEST_F(TlsMistakesTest, AMissingClientCertificateIsAskedFor) {
  const auto server = start("s1");
  EXPECT_THAT(says(*server, {"--cacert", file("ca.crt")}),
              HasSubstr("requires a client certificate; give it with --cert FILE and --key FILE"));
}

TEST_F(TlsMistakesTest, AKeyThatIsMissingUnreadableOrAnothersIsNamed) {
  const auto with_key = [this](const std::string& key) {
    return says("127.0.0.1:1",
                {"--cacert", file("ca.crt"), "--cert", file("op.crt"), "--key", key});
  };
  EXPECT_THAT(with_key(file("none.key")),
              AllOf(HasSubstr(file("none.key")), HasSubstr("No such file or directory")));
  EXPECT_THAT(with_key(file("s2.key")),
              HasSubstr(file("s2.key") + " is not the key of " + file("op.crt")));
  write_file("empty.key", "");
  EXPECT_THAT(with_key(file("empty.key")), HasSubstr("it is empty"));
  EXPECT_THAT(with_key(file("op.crt")), HasSubstr(file("op.crt")));
}

TEST_F(TlsMistakesTest, ARevokedClientCertificateIsNamedWithItsSerialNumber) {
  write_file("crl", next_list({admin_.serial}));
  const Pair reader = client("reader", "r1");
  write("r1", reader);
  const auto server = start("s1", {"--crl-file", file("crl")}, false);
  ASSERT_TRUE(eventually([&] { return server->log().find("mutual TLS") != std::string::npos; }));
  EXPECT_THAT(says(*server, shown("op")), AllOf(HasSubstr("refused " + file("op.crt")),
                                                HasSubstr(admin_.serial), HasSubstr("revoked")));
}

// Takes about 20 s: programs that give up on their servers, and agents that never do.
// What has streams begins with a question, so that a mistake is not taken for a server that is
// away.
TEST_F(TlsMistakesTest, WatchesBackupsAndAgentsNameThemToo) {
  write("stranger", other_.issue(order("admin", "op")));
  const auto server = start("s1");
  const auto no_tls = HasSubstr("uses TLS (its CA is CN=Test CA)");
  const auto stranger = HasSubstr("was issued by CN=Other CA");
  const auto other = HasSubstr(file("other-ca.crt") + " does not hold");
  for (const std::string& command : {std::string("topology --watch"), "backup " + file("b")}) {
    SCOPED_TRACE(command);
    for (const auto& [options, sentence] :
         {std::pair<std::vector<std::string>, decltype(no_tls)>{{}, no_tls},
          {shown("stranger"), stranger},
          {shown("op", "other-ca.crt"), other}}) {
      const auto [code, text] = run(server->address(), options, command);
      EXPECT_NE(code, 0);
      EXPECT_THAT(text, sentence);
    }
  }
  const auto bare = agent(*server, {});
  const auto foreign = agent(*server, shown("stranger"));
  const auto misled = agent(*server, shown("op", "other-ca.crt"));
  EXPECT_THAT(bare->read_line(), no_tls);
  EXPECT_THAT(foreign->read_line(), stranger);
  EXPECT_THAT(misled->read_line(), other);
}

TEST_F(TlsMistakesTest, WhereNobodyListensTlsIsNotBlamed) {
  EXPECT_THAT(says("127.0.0.1:" + std::to_string(free_port()), shown("op")),
              AllOf(HasSubstr("nothing listens at"), Not(HasSubstr("does not use TLS"))));
}

}  // namespace tls_mistakes_test
}  // namespace muster::testing
