#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platform/pki/issue.h"
#include "platform/system_clock.h"

namespace muster::rpc {

/// A certificate and its key, in PEM form.
struct TestPair {
  std::string cert;
  std::string key;
};

/// A CA and the certificates it issues, for two days.
class TestAuthority {
 public:
  TestAuthority() {
    order_.common_name = "Test CA";
    order_.use = pki::CertificateOrder::Use::kAuthority;
    order_.not_before = std::chrono::floor<std::chrono::seconds>(system_wall_now()) - 1h;
    order_.not_after = order_.not_before + 48h;
    own_.emplace(pki::issue_authority(order_, key_).value());
  }
  [[nodiscard]] std::string pem() const { return own_->to_pem(); }
  [[nodiscard]] TestPair issue(std::vector<std::string> names, std::vector<std::string> addresses) {
    const auto key = pki::PrivateKey::generate(pki::KeyType::kEcP256).value();
    pki::CertificateOrder order = order_;
    order.common_name = "someone";
    order.use = pki::CertificateOrder::Use::kServerAndClient;
    order.dns_names = std::move(names);
    order.ip_addresses = std::move(addresses);
    return {pki::issue(order, key, *own_, key_).value().to_pem(), key.to_pem()};
  }

 private:
  pki::PrivateKey key_ = pki::PrivateKey::generate(pki::KeyType::kEcP256).value();
  pki::CertificateOrder order_;
  std::optional<pki::Certificate> own_;
};

}  // namespace muster::rpc
