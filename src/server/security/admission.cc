#include "server/security/admission.h"

#include <utility>

#include "platform/pki/certificate.h"

namespace muster::server {
namespace {

Error denied(const Peer& peer, const std::string& what) {
  return {Errc::kDenied, "the certificate of " + std::string(to_string(peer.identity.role)) + " " +
                             peer.identity.id + " " + what};
}

}  // namespace

Result<Peer> read_peer(std::string_view pem) {
  const auto certificate = pki::Certificate::from_pem(pem);
  if (!certificate) return {Errc::kDenied, certificate.error().message};
  const pki::CertificateFacts& facts = certificate->facts();
  auto identity =
      security::identify({facts.common_names, facts.dns_names, facts.ip_addresses, facts.uris});
  if (!identity) return identity.error();
  Peer peer{std::move(*identity), facts.issuer, facts.serial, facts.not_after, facts.server_auth};
  if (!facts.client_auth) return denied(peer, "lacks the extended key usage clientAuth");
  return peer;
}

Result<std::shared_ptr<const Peer>> PeerCache::read(std::string_view pem) {
  {
    const MutexLock lock(mutex_);
    const auto known = peers_.find(pem);
    if (known != peers_.end()) return known->second;
  }
  auto peer = read_peer(pem);
  if (!peer) return peer.error();
  auto shared = std::make_shared<const Peer>(std::move(*peer));
  const MutexLock lock(mutex_);
  if (peers_.size() >= peers_max_) peers_.clear();
  peers_.insert_or_assign(std::string(pem), shared);
  return shared;
}

std::size_t PeerCache::size() const {
  const MutexLock lock(mutex_);
  return peers_.size();
}

Status still_valid(const Peer& peer, const CrlKeeper* revocations, WallTime now) {
  using security::Standing;
  if (now >= peer.not_after) return denied(peer, "has expired");
  const Standing standing =
      revocations == nullptr ? Standing::kGood : revocations->standing(peer.issuer, peer.serial);
  if (standing == Standing::kRevoked) return denied(peer, "has been revoked");
  if (standing == Standing::kUnknown) {
    return denied(peer, "cannot be checked: no revocation list is in force for it");
  }
  return Done{};
}

Status admit(const Peer& peer, security::Call call, const CrlKeeper* revocations, WallTime now) {
  if (Status valid = still_valid(peer, revocations, now); !valid) return valid;
  if (!security::allowed(peer.identity.role, call)) {
    const auto& row = security::permissions()[static_cast<std::size_t>(call)];
    return denied(peer, "does not allow " + std::string(row.name));
  }
  return Done{};
}

}  // namespace muster::server
