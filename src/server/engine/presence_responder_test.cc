#include "server/engine/presence_responder.h"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/security/identity.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "server/engine/peer_views.h"
#include "server/security/tls_test_authority.h"

namespace muster::engine {
namespace presence_responder_test {

using Kind = PeerView::Kind;

/// A server that waits, and peers that ask it, on one loop as in musterd.
class PresenceResponderTest : public ::testing::Test {
 protected:
  void start(const TlsFiles& tls) {
    thread_.run([&] {
      responder_ = std::make_unique<PresenceResponder>(thread_.loop(), "s1");
      const auto port = responder_->start({"127.0.0.1", 0}, tls);
      ASSERT_TRUE(port) << port.error().message;
      url_ = (tls.cert.empty() ? "http" : "https") + std::string("://127.0.0.1:") +
             std::to_string(*port);
    });
  }
  ~PresenceResponderTest() override {
    thread_.run([&] {
      views_.clear();
      responder_.reset();
    });
  }

  /// What a peer with these files sees; asked again, it uses the connections that it has.
  PeerView look(const TlsFiles& tls) {
    std::promise<PeerView> seen;
    thread_.run([&] {
      auto& views = views_[tls.cert];
      if (!views) views = std::make_unique<PeerViews>(thread_.loop(), tls);
      views->look(
          {{"s1", url_}}, thread_.loop().now() + 10s,
          [&](const std::map<std::string, PeerView>& all) { seen.set_value(all.at("s1")); });
    });
    return seen.get_future().get();
  }

  TlsFiles files(const std::string& id, std::vector<std::string> names) {
    pki::CertificateOrder order{id,
                                std::move(names),
                                {"127.0.0.1"},
                                {"muster:role:server"},
                                pki::CertificateOrder::Use::kServerAndClient,
                                now_ - 1h,
                                now_ + 1h};
    const server::TestPair pair = authority_.issue(order);
    directory_.write(id + ".crt", pair.certificate);
    directory_.write(id + ".key", pair.key);
    directory_.write("ca.crt", authority_.pem());
    return {directory_.file("ca.crt"), directory_.file(id + ".crt"), directory_.file(id + ".key")};
  }

  LoopThread thread_;
  const WallTime now_ = std::chrono::floor<std::chrono::seconds>(system_wall_now());
  const server::TestAuthority authority_{now_ - 1h};
  const server::TestDirectory directory_;
  std::unique_ptr<PresenceResponder> responder_;
  std::map<std::string, std::unique_ptr<PeerViews>> views_;
  std::string url_;
};

// Two hundred looks without one that saw nobody: a flapping check begins no cluster.
TEST_F(PresenceResponderTest, EveryPeerThatLooksIsAnsweredEveryTime) {
  for (const bool tls : {false, true}) {
    const TlsFiles own = tls ? files("s1", {security::kServerName}) : TlsFiles{};
    const TlsFiles second = tls ? files("s2", {security::kServerName}) : TlsFiles{};
    start(own);
    for (int i = 0; i < 100; ++i) {
      const PeerView view = look(second);
      ASSERT_EQ(view.kind, Kind::kWaiting) << (tls ? "TLS" : "plaintext") << ", look " << i;
      EXPECT_EQ(view.name, "s1");
      ASSERT_FALSE(view.saw_all);
    }
    thread_.run([&] { responder_->saw_all(); });
    EXPECT_TRUE(look(second).saw_all);
    thread_.run([&] { responder_.reset(); });
    EXPECT_EQ(look(second).kind, Kind::kSilent);
  }
}

TEST_F(PresenceResponderTest, WithTlsOnlyServersAreAnswered) {
  start(files("s1", {security::kServerName}));
  EXPECT_EQ(look(files("s2", {security::kServerName})).kind, Kind::kWaiting);
  EXPECT_EQ(look(files("n1", {"n1.example"})).kind, Kind::kSilent) << "a node's";
  const TlsFiles nothing{directory_.file("ca.crt"), {}, {}};
  EXPECT_EQ(look(nothing).kind, Kind::kSilent) << "no certificate";
}

TEST_F(PresenceResponderTest, AnAddressInUseOrABadCertificateIsTold) {
  start({});
  thread_.run([&] {
    PresenceResponder second(thread_.loop(), "s2");
    const int port = std::stoi(url_.substr(url_.rfind(':') + 1));
    const Address taken{"127.0.0.1", static_cast<std::uint16_t>(port)};
    EXPECT_TRUE(second.start(taken, {}).is(Errc::kUnavailable));
    EXPECT_TRUE(
        second.start({"127.0.0.1", 0}, {"/nowhere", "/nowhere", "/nowhere"}).is(Errc::kInvalid));
  });
}

}  // namespace presence_responder_test
}  // namespace muster::engine
