#include "server/security/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "server/security/tls_test_authority.h"
#include "sim/world.h"

namespace muster::server {
namespace admission_test {

using security::Call;
using security::Role;
using ::testing::HasSubstr;

class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() { set_log_sink({}); }

  [[nodiscard]] std::string refusal(const Peer& peer, Call call, const CrlKeeper* keeper) const {
    const Status status = admit(peer, call, keeper, process_.wall_now());
    EXPECT_TRUE(status.is(Errc::kDenied));
    return status.ok() ? "" : status.error().message;
  }

  sim::World world_{1};
  sim::Process process_{world_, 1.0, 1'800'000'000s};
  const TestAuthority ca_{process_.wall_now()};
  const TestPair node_ = ca_.issue("n1", {"muster:role:node"}, 1h);
};

TEST_F(AdmissionTest, APeerIsReadFromItsCertificate) {
  const Peer peer = read_peer(node_.certificate).value();
  EXPECT_EQ(peer.identity.role, Role::kNode);
  EXPECT_EQ(peer.identity.id, "n1");
  EXPECT_EQ(peer.serial, node_.serial);
  EXPECT_EQ(peer.issuer, ca_.name());
  EXPECT_TRUE(read_peer("").is(Errc::kDenied));
  EXPECT_TRUE(read_peer(node_.key).is(Errc::kDenied));
  // A certificate of the same authority that names no role is nobody.
  EXPECT_TRUE(read_peer(ca_.issue("n2").certificate).is(Errc::kDenied));
}

TEST_F(AdmissionTest, TheRoleDecides) {
  const Peer peer = read_peer(node_.certificate).value();
  EXPECT_TRUE(admit(peer, Call::kHeartbeat, nullptr, process_.wall_now()).ok());
  EXPECT_EQ(refusal(peer, Call::kBackup, nullptr),
            "the certificate of node n1 does not allow /muster.v1.AdminService/Backup");
}

TEST_F(AdmissionTest, ARevokedCertificateIsRefusedOnConnectionsAlreadyOpen) {
  const Peer peer = read_peer(node_.certificate).value();
  std::string list = ca_.list({});
  CrlKeeper keeper(process_, [&](MonoTime, const CrlKeeper::Fetched& done) { done(list); },
                   ca_.bundle(), {});
  EXPECT_THAT(refusal(peer, Call::kHeartbeat, &keeper), HasSubstr("cannot be checked"));
  keeper.refresh();
  EXPECT_TRUE(admit(peer, Call::kHeartbeat, &keeper, process_.wall_now()).ok());
  list = ca_.list({node_.serial});
  keeper.refresh();
  EXPECT_EQ(refusal(peer, Call::kHeartbeat, &keeper),
            "the certificate of node n1 has been revoked");
}

TEST_F(AdmissionTest, ACertificateEndsDuringAConnection) {
  const Peer peer = read_peer(node_.certificate).value();
  world_.run(world_.now() + 1h);
  EXPECT_THAT(refusal(peer, Call::kHeartbeat, nullptr), HasSubstr("has expired"));
}

TEST_F(AdmissionTest, ACertificateIsReadOnceAndTheMemoryOfThemIsBounded) {
  PeerCache cache(2);
  const auto first = cache.read(node_.certificate).value();
  EXPECT_EQ(cache.read(node_.certificate).value(), first);
  EXPECT_EQ(first->identity.id, "n1");
  EXPECT_TRUE(cache.read("nonsense").is(Errc::kDenied));
  EXPECT_EQ(cache.size(), 1u);
  for (const std::string id : {"n2", "n3", "n4"}) {
    EXPECT_EQ(cache.read(ca_.issue(id, {"muster:role:node"}).certificate).value()->identity.id, id);
    EXPECT_LE(cache.size(), 2u);
  }
  // Who was forgotten is read again; who holds it keeps it.
  EXPECT_EQ(cache.read(node_.certificate).value()->identity.id, first->identity.id);
}

}  // namespace admission_test
}  // namespace muster::server
