#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/tls_scene.h"
#include "tests/support/etcd_cluster.h"

namespace muster::testing {
namespace tls_engine_test {

class TlsEngineTest : public TlsScene {
 protected:
  /// curl's exit code for etcd's peer port.
  int curl(int port, const std::vector<std::string>& more) const {
    std::vector<std::string> words{"curl", "-sf",       "--http1.1", "--max-time",  "20",
                                   "-o",   "/dev/null", "--cacert",  file("ca.crt")};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back("https://127.0.0.1:" + std::to_string(port) + "/members");
    return run_program(words);
  }
  std::vector<std::string> shown(const std::string& id) const {
    return {"--cert", file(id + ".crt"), "--key", file(id + ".key")};
  }
};

// T21, P11: Raft's port asks what every other listener asks.
TEST_F(TlsEngineTest, TheEnginesPortAcceptsOnlyServersThatAreNotRevoked) {
  const int port = free_port();
  Musterd server(
      "s1", "managed", dir_.path(),
      words("s1", {"--peers", "s1=127.0.0.1:" + std::to_string(port), "--crl-file", file("crl")}),
      true, {}, pem(admin_));
  ASSERT_TRUE(eventually([&] { return put(server, "k", "v", 2s).ok(); }, 60s));
  EXPECT_EQ(curl(port, shown("s2")), 0);
  EXPECT_NE(curl(port, {}), 0) << "no certificate";
  write("n1", client("node", "n1"));
  EXPECT_NE(curl(port, shown("n1")), 0) << "a node's";
  auto old = shown("s2");
  old.insert(old.end(), {"--tls-max", "1.2"});
  EXPECT_EQ(curl(port, old), 35) << "TLS 1.2";
  EXPECT_NE(run_program({"curl", "-sf", "--max-time", "10", "-o", "/dev/null",
                         "http://127.0.0.1:" + std::to_string(port) + "/members"}),
            0)
      << "plaintext";
  const Pair revoked = server_pair("s3");
  write("s3", revoked);
  EXPECT_EQ(curl(port, shown("s3")), 0);
  write_file("crl", next_list({revoked.serial}));
  EXPECT_NE(curl(port, shown("s3")), 0) << "revoked";
}

/// A server with certificates on an etcd with certificates, each of an authority of its own.
class TlsExternalEngineTest : public TlsScene {
 protected:
  std::unique_ptr<Musterd> on(const std::string& engine, bool wait = false) {
    return std::make_unique<Musterd>("s1", engine, dir_.path(), words("s1"), wait, MusterdPlace{},
                                     pem(admin_));
  }
  /// What a server says that does not start on this engine.
  std::string refusal(const std::string& engine) {
    const auto server = on(engine);
    EXPECT_EQ(server->wait(), 70) << engine;
    return server->log();
  }
};

TEST_F(TlsExternalEngineTest, AnEtcdThatWantsCertificatesIsShownThemOrNamedAsTheReason) {
  const EtcdCluster etcd({.mutual_tls = true});
  const std::string believed = "?cacert=" + etcd.ca_file();
  const std::string shown = "&cert=" + etcd.client_cert_file() + "&key=" + etcd.client_key_file();
  {
    const auto server = on(etcd.url("muster") + believed + shown, true);
    ASSERT_TRUE(eventually([&] { return put(*server, "k", "v", 2s).ok(); }));
    EXPECT_EQ(get(*server, "k"), "v");
    EXPECT_EQ(server->terminate(), 0);
  }
  using ::testing::HasSubstr;
  const auto says_what_to_check = HasSubstr("check cacert, cert and key in its address");
  EXPECT_THAT(refusal(etcd.url("muster")), HasSubstr("etcd uses TLS, but its address names no"));
  EXPECT_THAT(refusal(etcd.url("muster") + believed), says_what_to_check) << "none is shown";
  write("stranger", client("admin", "op"));
  EXPECT_THAT(refusal(etcd.url("muster") + believed + "&cert=" + file("stranger.crt") +
                      "&key=" + file("stranger.key")),
              says_what_to_check)
      << "another authority's is shown";
  EXPECT_THAT(refusal(etcd.url("muster") + "?cacert=" + file("ca.crt") + shown), says_what_to_check)
      << "etcd's own is not believed";
  EXPECT_THAT(refusal(etcd.url("muster") + believed + "&cert=/nowhere&key=/nowhere"),
              HasSubstr("/nowhere"));
}

// A stand-in that speaks TLS 1.2 at most: as good a member as any to who would accept that.
TEST_F(TlsExternalEngineTest, AnEtcdThatSpeaksOlderTlsIsNamedAsTheReason) {
  const std::string port = std::to_string(free_port());
  ChildProcess old({"openssl", "s_server", "-tls1_2", "-quiet", "-www", "-accept",
                    "127.0.0.1:" + port, "-cert", file("s2.crt"), "-key", file("s2.key")});
  const std::string url = "etcd://127.0.0.1:" + port + "/muster?cacert=" + file("ca.crt");
  ASSERT_TRUE(eventually([&] {
    return run_program({"curl", "-s", "--max-time", "5", "-o", "/dev/null", "--cacert",
                        file("ca.crt"), "https://127.0.0.1:" + port + "/health"}) == 0;
  }));
  EXPECT_THAT(refusal(url), ::testing::HasSubstr("protocol version"));
  old.kill();
}

// The version is looked at when a server starts; each connection made later decides for itself.
TEST_F(TlsExternalEngineTest, AnEtcdThatComesBackWithOlderTlsIsNotSpokenTo) {
  EtcdCluster etcd({.mutual_tls = true});
  const auto server = on(etcd.url("muster") + "?cacert=" + etcd.ca_file() +
                         "&cert=" + etcd.client_cert_file() + "&key=" + etcd.client_key_file());
  ASSERT_TRUE(eventually([&] { return put(*server, "k", "v", 2s).ok(); }));
  etcd.kill(0);
  ChildProcess old({"openssl", "s_server", "-tls1_2", "-quiet", "-alpn", "h2", "-accept",
                    etcd.endpoint(0), "-cert", etcd.client_cert_file(), "-key",
                    etcd.client_key_file()});
  EXPECT_TRUE(
      eventually([&] { return server->log().find("protocol version") != std::string::npos; }));
  old.kill();
}

// Takes about 7 s: a real etcd starts twice, and the server tells that it waits only when a first
// request to nobody has failed.
TEST_F(TlsExternalEngineTest, AnEtcdThatIsAwayIsWaitedFor) {
  EtcdCluster etcd({.mutual_tls = true});
  etcd.kill(0);
  const auto server = on(etcd.url("muster") + "?cacert=" + etcd.ca_file() +
                         "&cert=" + etcd.client_cert_file() + "&key=" + etcd.client_key_file());
  ASSERT_TRUE(eventually([&] {
    return server->log().find("waiting for the engine to load the state") != std::string::npos;
  }));
  etcd.restart(0);
  EXPECT_TRUE(eventually([&] { return put(*server, "k", "v", 2s).ok(); }));
}

}  // namespace tls_engine_test
}  // namespace muster::testing
