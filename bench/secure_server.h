#pragma once

#include <string>
#include <vector>

#include "bench/rpc_load.h"
#include "bench/tls_site.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::bench {

/// One musterd with mutual TLS and a revocation list, on another server's engine.
class SecureServer {
 public:
  explicit SecureServer(const std::string& engine)
      : server_("s1", engine, directory_.path(), words(), true, {},
                testing::ClientPem{site_.ca.pem(), site_.agent.certificate, site_.agent.key}) {
    MUSTER_CHECK(testing::eventually(
        [this] { return testing::register_node(server_, testing::node("n0")).ok(); }));
  }
  [[nodiscard]] std::string endpoint() const { return server_.address(); }
  [[nodiscard]] pid_t pid() const { return server_.pid(); }
  [[nodiscard]] LoadTls tls() const {
    return {site_.ca.pem(), site_.agent.certificate, site_.agent.key};
  }

 private:
  [[nodiscard]] std::vector<std::string> words() const {
    std::vector<std::string> words = site_.words();
    // A busy machine must not end the term in the middle of a measurement.
    words.insert(words.end(), {"--lease-timeout", "15s"});
    return words;
  }

  Site site_;
  TempDir directory_;
  testing::Musterd server_;
};

}  // namespace muster::bench
