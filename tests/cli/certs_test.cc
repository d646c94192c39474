#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "tests/cli/muster_program.h"

namespace muster {
namespace certs_test {

using testing::HasSubstr;
using testing::Not;

/// An authority in a directory of its own, made by the real program and judged by `openssl`.
class CertsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(certs({"init"}).code, 0); }

  Outcome certs(Words words) {
    words.insert(words.begin(), "certs");
    words.insert(words.end(), {"--dir", pki()});
    return run_muster(words);
  }
  void issue(const std::string& role, const std::string& id, const Words& more = {}) {
    Words words{"issue", "--role", role, "--id", id, "--san", "localhost,127.0.0.1"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = certs(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  [[nodiscard]] std::string pki() const { return dir_.path() / "pki"; }
  [[nodiscard]] std::string file(const std::string& name) const { return pki() + "/" + name; }

  /// Runs a line of shell in the authority's directory; its output is kept for messages.
  int shell(const std::string& line) {
    const int code = run_program({"timeout", "60", "sh", "-c",
                                  "cd '" + pki() + "' && { " + line + "; } >'" + log() + "' 2>&1"});
    output_ = content(log());
    return code;
  }
  [[nodiscard]] std::string log() const { return dir_.path() / "log"; }

  TempDir dir_;
  std::string output_;
};

TEST_F(CertsTest, OpensslAcceptsWhatItMakesForEachPurpose) {
  issue("server", "s1");
  issue("node", "n1");
  issue("agent", "a1", {"--carry", "n1,rack7-*"});
  issue("admin", "op");
  issue("reader", "r1");
  EXPECT_EQ(shell("openssl verify -x509_strict -purpose sslserver -verify_hostname localhost "
                  "-CAfile ca.crt s1.crt"),
            0)
      << output_;
  // etcd's peers show one certificate to both sides.
  EXPECT_EQ(shell("openssl verify -x509_strict -purpose sslclient -CAfile ca.crt s1.crt n1.crt "
                  "a1.crt op.crt r1.crt"),
            0)
      << output_;
  EXPECT_NE(shell("openssl verify -purpose sslserver -CAfile ca.crt n1.crt"), 0) << output_;
  EXPECT_EQ(shell("openssl x509 -in s1.crt -noout -text"), 0);
  EXPECT_THAT(output_, HasSubstr("Public-Key: (2048 bit)"));
  EXPECT_EQ(shell("openssl x509 -in a1.crt -noout -text"), 0);
  EXPECT_THAT(output_, HasSubstr("DNS:localhost, IP Address:127.0.0.1, URI:muster:role:agent, "
                                 "URI:muster:carries:n1, URI:muster:carries:rack7-*"));
}

TEST_F(CertsTest, KeysAreForTheirOwnerOnly) {
  issue("node", "n1", {"--p12"});
  EXPECT_EQ(shell("stat -c '%a' ca.key n1.key n1.p12 index.json"), 0);
  EXPECT_EQ(output_, "600\n600\n600\n600\n");
  EXPECT_EQ(shell("ls -A | grep draft"), 1) << output_;
}

TEST_F(CertsTest, ARevokedCertificateIsOnAListThatOpensslVerifies) {
  issue("node", "n1");
  issue("node", "n2");
  const Outcome revoked = certs({"revoke", "--id", "n1", "--json"});
  ASSERT_EQ(revoked.code, 0) << revoked.err;
  EXPECT_EQ(revoked.json()["revoked"], 1);
  EXPECT_EQ(revoked.json()["serials"].size(), 1u);
  EXPECT_EQ(revoked.json()["crl"], file("crl.pem"));
  EXPECT_EQ(shell("openssl crl -in crl.pem -noout -CAfile ca.crt -verify -text"), 0);
  EXPECT_THAT(output_, HasSubstr("verify OK"));
  const std::string verify = "openssl verify -crl_check -CAfile ca.crt -CRLfile crl.pem ";
  EXPECT_EQ(shell(verify + "n2.crt"), 0) << output_;
  EXPECT_NE(shell(verify + "n1.crt"), 0);
  EXPECT_THAT(output_, HasSubstr("certificate revoked"));
  // A new certificate of the same id is good; the old one stays revoked on the next list.
  issue("node", "n1", {"--replace"});
  EXPECT_EQ(shell("cp n1.crt new.crt"), 0);
  ASSERT_EQ(certs({"crl"}).code, 0);
  EXPECT_EQ(shell(verify + "new.crt"), 0) << output_;
  EXPECT_EQ(shell("openssl crl -in crl.pem -noout -crlnumber"), 0);
  EXPECT_THAT(output_, HasSubstr("crlNumber=0x02"));
}

TEST_F(CertsTest, ThePasswordOfABrowsersFileIsPrintedOnceAndOpensIt) {
  const Outcome outcome = certs({"issue", "--role", "admin", "--id", "op", "--p12", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string password = outcome.json()["p12Password"];
  EXPECT_GE(password.size(), 20u);
  EXPECT_EQ(shell("openssl pkcs12 -in op.p12 -noenc -passin pass:" + password), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("BEGIN PRIVATE KEY"));
  EXPECT_NE(shell("openssl pkcs12 -in op.p12 -noenc -passin pass:other"), 0);
  EXPECT_EQ(shell("grep -r " + password + " ."), 1) << output_;
}

TEST_F(CertsTest, MistakesAreOneSentenceAndExitCode64) {
  issue("node", "n1");
  for (const Words& words :
       {Words{"init"}, Words{"issue", "--role", "node", "--id", "n1"},
        Words{"issue", "--role", "king", "--id", "n2"}, Words{"revoke", "--id", "n9"},
        Words{"revoke"}, Words{"frobnicate"}, Words{"crl", "--role", "node"}}) {
    const Outcome outcome = certs(words);
    EXPECT_EQ(outcome.code, 64) << words[0];
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

/// `openssl s_server` that answers HTTP to anyone who shows a certificate that is valid.
class TlsServer {
 public:
  TlsServer(const std::string& pki, const Words& more) {
    for (int attempt = 0; attempt < 5; ++attempt) {
      port_ = free_port();
      Words words{"setpriv",
                  "--pdeathsig",
                  "KILL",
                  "openssl",
                  "s_server",
                  "-www",
                  "-accept",
                  "127.0.0.1:" + std::to_string(port_),
                  "-CAfile",
                  pki + "/ca.crt",
                  "-cert",
                  pki + "/s1.crt",
                  "-key",
                  pki + "/s1.key",
                  "-Verify",
                  "1",
                  "-verify_return_error"};
      words.insert(words.end(), more.begin(), more.end());
      child_ = std::make_unique<ChildProcess>(words);
      for (std::string line = child_->read_line(); !line.empty(); line = child_->read_line()) {
        if (line == "ACCEPT") return;
      }
    }
    ADD_FAILURE() << "openssl s_server does not start";
  }
  ~TlsServer() { child_->kill(); }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  [[nodiscard]] std::string port() const { return std::to_string(port_); }

 private:
  int port_ = 0;
  std::unique_ptr<ChildProcess> child_;
};

std::string client(const TlsServer& server, const std::string& id, const std::string& more) {
  const std::string files = id.empty() ? "" : " -cert " + id + ".crt -key " + id + ".key";
  return "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | openssl s_client -ign_eof -connect 127.0.0.1:" +
         server.port() + " -verify_hostname localhost -verify_return_error -CAfile ca.crt" + files +
         " " + more;
}

TEST_F(CertsTest, BothSidesOfATls13HandshakeAcceptEachOther) {
  issue("server", "s1");
  issue("node", "n1");
  const TlsServer server(pki(), {"-tls1_3"});
  EXPECT_EQ(shell(client(server, "n1", "-tls1_3")), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("HTTP/1.0 200 ok"));
  EXPECT_THAT(output_, HasSubstr("TLSv1.3"));
  EXPECT_THAT(output_, HasSubstr("Verify return code: 0 (ok)"));
  shell(client(server, "", "-tls1_3"));
  EXPECT_THAT(output_, Not(HasSubstr("HTTP/1.0 200 ok")));
  EXPECT_NE(shell(client(server, "n1", "-tls1_2")), 0) << output_;
}

TEST_F(CertsTest, ARevokedCertificateEndsTheHandshake) {
  issue("server", "s1");
  issue("node", "n1");
  issue("node", "n2");
  ASSERT_EQ(certs({"revoke", "--id", "n1"}).code, 0);
  const TlsServer server(pki(), {"-crl_check", "-CRL", file("crl.pem"), "-tls1_3"});
  EXPECT_EQ(shell(client(server, "n2", "")), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("HTTP/1.0 200 ok"));
  shell(client(server, "n1", ""));
  EXPECT_THAT(output_, Not(HasSubstr("HTTP/1.0 200 ok")));
  EXPECT_THAT(output_, HasSubstr("certificate revoked"));
}

/// A member of a cluster of two that speaks TLS to clients and to its peer.
Words member(const std::string& pki, const std::string& data, int index,
             const std::vector<int>& ports) {
  const std::string id = "s" + std::to_string(index + 1);
  const auto url = [&](std::size_t at) {
    return "https://127.0.0.1:" + std::to_string(ports.at(at));
  };
  const std::size_t own = static_cast<std::size_t>(index) * 2;
  return {"setpriv", "--pdeathsig", "KILL", "sh", "-c",
          "exec \"$@\" >'" + data + "/" + id + ".log' 2>&1", "sh", "etcd", "--name=" + id,
          "--data-dir=" + data + "/" + id, "--listen-client-urls=" + url(own),
          "--advertise-client-urls=" + url(own), "--listen-peer-urls=" + url(own + 1),
          "--initial-advertise-peer-urls=" + url(own + 1),
          "--initial-cluster=s1=" + url(1) + ",s2=" + url(3), "--client-cert-auth",
          "--trusted-ca-file=" + pki + "/ca.crt", "--cert-file=" + pki + "/" + id + ".crt",
          "--key-file=" + pki + "/" + id + ".key", "--peer-client-cert-auth",
          "--peer-trusted-ca-file=" + pki + "/ca.crt",
          "--peer-cert-file=" + pki + "/" + id + ".crt",
          "--peer-key-file=" + pki + "/" + id + ".key",
          // No suite of TLS 1.2 fits an RSA certificate then; those of 1.3 always do.
          "--cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"};
}

TEST_F(CertsTest, PeersOfAnEtcdClusterAcceptServerCertificatesAndOnlyTls13) {
  issue("server", "s1");
  issue("server", "s2");
  issue("admin", "op");
  int code = -1;
  for (int attempt = 0; attempt < 3 && code != 0; ++attempt) {
    const TempDir data;
    std::vector<int> ports;
    for (int i = 0; i < 4; ++i) ports.push_back(free_port());
    ChildProcess one(member(pki(), data.path(), 0, ports));
    ChildProcess two(member(pki(), data.path(), 1, ports));
    // A write needs both members: it succeeds only if each has accepted the other.
    code = shell("ETCDCTL_API=3 etcdctl --endpoints=https://127.0.0.1:" + std::to_string(ports[0]) +
                 " --dial-timeout=20s --command-timeout=20s --cacert=ca.crt --cert=op.crt "
                 "--key=op.key put k v");
    if (code == 0) {
      const std::string connect =
          "openssl s_client -connect 127.0.0.1:" + std::to_string(ports[0]) +
          " -CAfile ca.crt -cert op.crt -key op.key </dev/null ";
      EXPECT_EQ(shell(connect + "-tls1_3"), 0) << output_;
      EXPECT_NE(shell(connect + "-tls1_2"), 0) << output_;
    } else {
      output_ += content(data.path() / "s1.log");
    }
    one.kill();
    two.kill();
  }
  EXPECT_EQ(code, 0) << output_;
}

}  // namespace certs_test
}  // namespace muster
