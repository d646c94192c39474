#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "core/security/identity.h"
#include "platform/event_loop.h"
#include "store/open/open.h"
#include "tests/server/tls_scene.h"

namespace muster::testing {
namespace tls_reload_test {

/// Clients that ask all the time, on one connection and on new ones, and count what fails.
class Load {
 public:
  Load(const std::string& address, const ClientPem& pem) {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this, address, pem, fresh = i == 1] { run(address, pem, fresh); });
    }
  }
  ~Load() { stop(); }
  void stop() {
    stopped_ = true;
    for (std::thread& each : threads_) {
      if (each.joinable()) each.join();
    }
  }
  [[nodiscard]] int answered() const { return answered_; }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  void run(const std::string& address, const ClientPem& pem, bool fresh) {
    auto channel = open_channel(address, pem);
    while (!stopped_) {
      if (fresh) channel = open_channel(address, pem);
      const auto stub = v1::CoordinatorService::NewStub(channel);
      Context context(30s, false);
      v1::HealthCheckResponse response;
      const grpc::Status status = stub->HealthCheck(&context, {}, &response);
      ++(status.ok() ? answered_ : failed_);
      if (!status.ok()) ADD_FAILURE() << status.error_message();
      let_pass(2ms);
    }
  }

  std::atomic<bool> stopped_{false};
  std::atomic<int> answered_{0};
  std::atomic<int> failed_{0};
  std::vector<std::thread> threads_;
};

using TlsReloadTest = TlsScene;

// P11: certificate, key, authorities and list change under load, and no healthy client notices.
TEST_F(TlsReloadTest, EverythingIsReplacedUnderLoadWithoutOneFailedCall) {
  const server::TestAuthority next(now_, "Next CA");
  const std::string both = ca_.pem() + next.pem();
  const auto server = start("s1", {"--crl-file", file("crl")});
  Load load(server->address(), {both, admin_.certificate, admin_.key});
  ASSERT_TRUE(eventually([&] { return load.answered() > 20; }));

  // Renewed, file by file: between the two they do not fit, and the earlier ones stay in force.
  const Pair renewed = server_pair("s1");
  write_file("s1.key", renewed.key);
  server->reload();
  let_pass(200ms);
  write_file("s1.crt", renewed.certificate);
  server->reload();

  // Another authority: first believed, then used.
  write_file("ca.crt", both);
  write_file("crl", next_list({}) + next.list({}));
  server->reload();
  pki::CertificateOrder wanted = order("server", "s1");
  wanted.dns_names = {security::kServerName};
  wanted.ip_addresses = {"127.0.0.1"};
  wanted.use = pki::CertificateOrder::Use::kServerAndClient;
  const Pair moved = next.issue(wanted);
  const Pair modern = next.issue(order("node", "n1"));
  EXPECT_TRUE(eventually([&] {
    return ask(*server, ClientPem{both, modern.certificate, modern.key}).ok();
  })) << "the new authority's clients are let in";
  write("s1", moved);
  server->reload();
  EXPECT_TRUE(eventually([&] {
    return ask(*server, ClientPem{next.pem(), modern.certificate, modern.key}).ok();
  })) << "the new certificate is shown";
  const int answered = load.answered();
  EXPECT_TRUE(eventually([&] { return load.answered() > answered + 20; }));
  load.stop();
  EXPECT_EQ(load.failed(), 0);
}

// P11: changes are noticed without a signal, too.
TEST_F(TlsReloadTest, ChangedFilesAreNoticedWithoutBeingAsked) {
  // Takes about 10 s: the server looks at its files every 10 s (CredentialWatcher's interval).
  const server::TestAuthority next(now_, "Next CA");
  const auto server = start("s1", {"--crl-file", file("crl")});
  const Pair modern = next.issue(order("node", "n1"));
  const Pair revoked = client("node", "n2");
  EXPECT_FALSE(lets_in(*server, modern));
  EXPECT_TRUE(lets_in(*server, revoked));
  write_file("ca.crt", ca_.pem() + next.pem());
  write_file("crl", next_list({revoked.serial}) + next.list({}));
  EXPECT_TRUE(eventually([&] { return lets_in(*server, modern); }, 60s));
  EXPECT_TRUE(eventually([&] { return !lets_in(*server, revoked); }, 60s));
}

// A program that runs for longer than its certificate needs no restart either.
TEST_F(TlsReloadTest, AClientsNewCertificateCountsWithoutARestart) {
  // Takes about 11 s: a client looks at its files every 10 s (kLookEverySeconds in channel.cc).
  const auto server = start("s1", {"--crl-file", file("crl"), "--connection-max-age", "1s"});
  const Pair first = client("node", "n1");
  write("n1", first);
  EventLoop loop;
  StoreOptions options;
  options.tls = {file("ca.crt"), file("n1.crt"), file("n1.key")};
  const auto store = open_store("muster://" + server->address() + "/app", loop, options);
  ASSERT_TRUE(store.ok()) << store.error().message;
  const auto reads = [&] {
    std::optional<bool> read;
    (*store)->get("key", {}, loop.now() + 2s, [&](const Result<Object>& object) {
      read = object.ok() || object.is(Errc::kNotFound);
    });
    while (!read) loop.run_until(loop.now() + 10ms);
    return *read;
  };
  ASSERT_TRUE(eventually(reads));
  write_file("crl", next_list({first.serial}));
  server->reload();
  EXPECT_TRUE(eventually([&] { return !reads(); }));
  write("n1", client("node", "n1"));
  EXPECT_TRUE(eventually(reads, 60s));
}

}  // namespace tls_reload_test
}  // namespace muster::testing
