#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "core/security/identity.h"
#include "platform/event_loop.h"
#include "server/rpc/testing_call.h"
#include "server/security/tls_keeper.h"
#include "server/security/tls_test_authority.h"

namespace muster::server {

/// Access control of a server with certificates and a revocation list, in files.
class AccessScene : public ::testing::Test {
 protected:
  AccessScene() {
    set_log_sink({});
    pki::CertificateOrder order{"s1", {security::kServerName}, {}, {"muster:role:server"}};
    order.use = pki::CertificateOrder::Use::kServerAndClient;
    order.not_before = loop_.wall_now() - 1h;
    order.not_after = loop_.wall_now() + 1h;
    const TestPair server = ca_.issue(order);
    directory_.write("s1.crt", server.certificate);
    directory_.write("s1.key", server.key);
    directory_.write("ca.crt", ca_.pem());
    directory_.write("crl", ca_.list({}));
  }
  TlsKeeper& secure() {
    TlsKeeper::Options options;
    options.files = {directory_.file("s1.crt"), directory_.file("s1.key"),
                     directory_.file("ca.crt"), directory_.file("crl")};
    options.server_id = "s1";
    tls_.emplace(loop_, options);
    EXPECT_TRUE(tls_->start().ok());
    return *tls_;
  }
  TestPair client(const std::string& role, const std::string& id,
                  std::vector<std::string> more = {}, std::optional<WallTime> ends = {}) {
    more.push_back("muster:role:" + role);
    pki::CertificateOrder order{id, {id + ".example"}, {"10.0.0.1"}, std::move(more)};
    order.not_before = loop_.wall_now() - 1h;
    order.not_after = ends.value_or(loop_.wall_now() + 1h);
    return ca_.issue(order);
  }
  static std::shared_ptr<rpc::TestingCall> call(const char* method,
                                                const std::string& certificate = "") {
    auto made = std::make_shared<rpc::TestingCall>(method);
    made->shown = certificate;
    return made;
  }

  EventLoop loop_;
  const TestAuthority ca_{std::chrono::floor<std::chrono::seconds>(loop_.wall_now()) - 1h};
  const TestDirectory directory_;
  std::optional<TlsKeeper> tls_;
};

}  // namespace muster::server
