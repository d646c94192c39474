#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "platform/pki/certificate.h"
#include "platform/pki/crl.h"
#include "platform/pki/issue.h"
#include "platform/pki/key.h"

namespace muster::server {

/// A key and its certificate, in PEM form.
struct TestPair {
  std::string certificate;
  std::string key;
  std::string serial;
};

/// An authority of a test: all it makes is good from `now` on, for a year.
class TestAuthority {
 public:
  explicit TestAuthority(WallTime now, const std::string& name = "Test CA")
      : now_(now),
        key_(pki::PrivateKey::generate(pki::KeyType::kEcP256).value()),
        certificate_(pki::issue_authority(order(name, pki::CertificateOrder::Use::kAuthority), key_)
                         .value()) {}

  [[nodiscard]] std::string pem() const { return certificate_.to_pem(); }
  /// For programs that sign with it.
  [[nodiscard]] std::string key_pem() const { return key_.to_pem(); }
  [[nodiscard]] std::string name() const { return certificate_.facts().subject; }
  [[nodiscard]] std::vector<pki::Certificate> bundle() const {
    return pki::Certificate::all_from_pem(pem()).value();
  }
  [[nodiscard]] TestPair issue(const std::string& id, std::vector<std::string> uris = {},
                               Duration lasts = 8760h) const {
    const auto key = pki::PrivateKey::generate(pki::KeyType::kEcP256).value();
    pki::CertificateOrder wanted = order(id, pki::CertificateOrder::Use::kServerAndClient);
    wanted.uris = std::move(uris);
    wanted.not_after = now_ + std::chrono::floor<std::chrono::seconds>(lasts);
    const auto made = pki::issue(wanted, key, certificate_, key_).value();
    return {made.to_pem(), key.to_pem(), made.facts().serial};
  }
  /// Exactly what `wanted` says, for a key that is made for it.
  [[nodiscard]] TestPair issue(const pki::CertificateOrder& wanted) const {
    const auto key = pki::PrivateKey::generate(pki::KeyType::kEcP256).value();
    const auto made = pki::issue(wanted, key, certificate_, key_).value();
    return {made.to_pem(), key.to_pem(), made.facts().serial};
  }
  [[nodiscard]] std::string list(const std::vector<std::string>& serials, Duration from = 0s,
                                 Duration lasts = 8760h) const {
    pki::RevocationOrder wanted;
    wanted.this_update = now_ + std::chrono::floor<std::chrono::seconds>(from);
    wanted.next_update = wanted.this_update + std::chrono::floor<std::chrono::seconds>(lasts);
    for (const std::string& serial : serials) wanted.revoked.push_back({serial, now_});
    return pki::make_revocation_list(wanted, certificate_, key_).value();
  }

 private:
  [[nodiscard]] pki::CertificateOrder order(const std::string& name,
                                            pki::CertificateOrder::Use use) const {
    return {name, {}, {}, {}, use, now_, now_ + 8760h};
  }

  WallTime now_;
  pki::PrivateKey key_;
  pki::Certificate certificate_;
};

/// A directory for one test.
class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-tls-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::trunc) << bytes;
  }

 private:
  std::string path_;
};

}  // namespace muster::server
