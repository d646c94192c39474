#include <gtest/gtest.h>

#include "tests/server/tls_scene.h"

namespace muster::testing {
namespace {

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

}  // namespace
}  // namespace muster::testing
