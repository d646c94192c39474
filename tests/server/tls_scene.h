#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/security/tls_test_authority.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {

/// The status of any method for an empty request.
grpc::Status ask_empty(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                       Duration timeout = 10s);

/// An authority, a directory with what it made, and servers that use it. One thread.
class TlsScene : public ::testing::Test {
 protected:
  using Pair = server::TestPair;

  TlsScene();

  /// What a certificate is to say; good for an hour to both sides unless changed.
  [[nodiscard]] pki::CertificateOrder order(const std::string& role, const std::string& id) const;
  [[nodiscard]] Pair client(const std::string& role, const std::string& id) const {
    return ca_.issue(order(role, id));
  }
  [[nodiscard]] Pair server_pair(const std::string& id,
                                 const std::string& address = "127.0.0.1") const;
  /// Writes ID.crt and ID.key.
  void write(const std::string& id, const Pair& pair) const;
  [[nodiscard]] std::string file(const std::string& name) const { return dir_.path() / name; }
  void write_file(const std::string& name, const std::string& bytes) const;

  /// A revocation list that is newer than those before it.
  [[nodiscard]] std::string next_list(const std::vector<std::string>& serials);

  /// The options by which server `id` uses its files.
  [[nodiscard]] std::vector<std::string> words(const std::string& id,
                                               std::vector<std::string> more = {}) const;
  /// A server on a directory, asked by an admin.
  std::unique_ptr<Musterd> start(const std::string& id, std::vector<std::string> more = {},
                                 bool wait = true);

  [[nodiscard]] ClientPem pem(const Pair& pair) const {
    return {ca_.pem(), pair.certificate, pair.key};
  }
  /// How a client that shows this certificate, or none, is answered on a new connection.
  grpc::Status ask(const Musterd& server, const std::optional<ClientPem>& pem) const;
  [[nodiscard]] bool lets_in(const Musterd& server, const Pair& pair) const {
    return ask(server, pem(pair)).ok();
  }

  const WallTime now_;
  TempDir dir_;
  const server::TestAuthority ca_;
  const Pair admin_;
  int lists_ = 0;
};

}  // namespace muster::testing
