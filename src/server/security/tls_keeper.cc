#include "server/security/tls_keeper.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "platform/listener.h"
#include "platform/pki/certificate.h"
#include "server/security/crl_marks.h"
#include "server/security/crl_source.h"

namespace muster::server {

using security::Credentials;
using security::Role;

/// What handshakes ask, perhaps for a moment longer than the keeper lives.
struct TlsKeeper::Door {
  explicit Door(const Clock& c) : clock(&c) {}

  Status verify(std::string_view pem, const std::string& remote, bool server)
      MUSTER_EXCLUDES(mutex) {
    const Status verdict = judge(pem, server);
    if (!verdict) {
      log_info("a handshake was refused",
               {{"remote", remote}, {"reason", verdict.error().message}});
    }
    return verdict;
  }
  Status judge(std::string_view pem, bool server) MUSTER_EXCLUDES(mutex) {
    const auto peer = peers.read(pem);
    if (!peer) return peer.error();
    if (server && (*peer)->identity.role != Role::kServer) {
      return {Errc::kDenied, "the certificate of " +
                                 std::string(to_string((*peer)->identity.role)) + " " +
                                 (*peer)->identity.id + " is not a server's"};
    }
    if (server && !(*peer)->may_serve) {
      return {Errc::kDenied, "the certificate of server " + (*peer)->identity.id +
                                 " lacks the extended key usage serverAuth"};
    }
    const MutexLock lock(mutex);
    if (clock == nullptr) return {Errc::kDenied, "this server is stopping"};
    return still_valid(**peer, revocations, clock->wall_now());
  }
  void close() MUSTER_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    clock = nullptr;
    revocations = nullptr;
  }
  void use(const CrlKeeper* keeper) MUSTER_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    revocations = keeper;
  }

  PeerCache peers;
  Mutex mutex;
  const Clock* clock MUSTER_GUARDED_BY(mutex);
  const CrlKeeper* revocations MUSTER_GUARDED_BY(mutex) = nullptr;
};

TlsKeeper::TlsKeeper(EventLoop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      watcher_(loop, options_.files,
               {.check = [this](const Credentials& found) { return check_own(found); }}),
      door_(std::make_shared<Door>(loop)),
      ssl_(std::make_shared<SslRules>(
          [door = door_](std::string_view pem, const std::string& remote) {
            return door->verify(pem, remote, false);
          })) {}

TlsKeeper::~TlsKeeper() {
  door_->close();
}

Status TlsKeeper::check_own(const Credentials& credentials) const {
  const auto own = read_peer(credentials.certificate);
  if (!own) return {Errc::kInvalid, "--cert: " + own.error().message};
  if (own->identity.role != Role::kServer) {
    return {Errc::kInvalid, "--cert is the certificate of " +
                                std::string(to_string(own->identity.role)) + " " +
                                own->identity.id + "; a server needs one with the role server"};
  }
  if (!own->may_serve) {
    return {Errc::kInvalid, "--cert lacks the extended key usage serverAuth"};
  }
  const auto& names = own->identity.addresses;
  if (std::find(names.begin(), names.end(), security::kServerName) == names.end()) {
    return {Errc::kInvalid, "--cert does not hold the DNS name " +
                                std::string(security::kServerName) +
                                ", by which servers recognise each other's engines"};
  }
  if (own->identity.id == options_.server_id) return Done{};
  return {Errc::kInvalid, "--cert is the certificate of server " + own->identity.id +
                              ", but --id is " + options_.server_id};
}

Status TlsKeeper::start() {
  if (Status status = watcher_.start(); !status) return status;
  const Credentials& first = watcher_.current();
  if (Status status = ssl_->use(first); !status) return status;
  watcher_.on_adopted([this](const Credentials& found, std::uint64_t) { adopt(found); });
  const bool by_url = !options_.crl_url.empty();
  if (!by_url && options_.files.crl.empty()) return Done{};
  if (by_url) http_.emplace(loop_);
  auto authorities = pki::Certificate::all_from_pem(first.authorities);
  if (!authorities) return authorities.error();
  CrlKeeper::Options keeping;
  keeping.timing = options_.crl;
  if (options_.data_dir.empty()) {
    log_warn(
        "without --data-dir an older revocation list is accepted after a restart, if it is still "
        "in force");
  } else {
    const CrlMarks marks(options_.data_dir);
    auto known = marks.load();
    if (!known) return known.error();
    keeping.marks = std::move(*known);
    keeping.keep_marks = [marks](const auto& newest) { return marks.save(newest); };
  }
  crl_ = std::make_unique<CrlKeeper>(
      loop_, by_url ? crl_from_url(*http_, options_.crl_url) : crl_from_file(options_.files.crl),
      std::move(*authorities), std::move(keeping));
  door_->use(crl_.get());
  crl_->on_change([this] {
    if (took_list_ && !crl_->accepted().empty()) took_list_(crl_->accepted());
    if (changed_) changed_();
  });
  watcher_.on_crl_changed([this] { crl_->refresh(); });
  crl_->refresh();
  return Done{};
}

void TlsKeeper::adopt(const Credentials& credentials) {
  if (const Status kept = ssl_->use(credentials); !kept) {
    return log_error("the new certificate is not used", {{"reason", kept.error().message}});
  }
  auto authorities = pki::Certificate::all_from_pem(credentials.authorities);
  if (crl_ && authorities) crl_->use_authorities(std::move(*authorities));
}

void TlsKeeper::reload() {
  watcher_.reload();
  if (crl_) crl_->refresh();
}

rpc::RpcTls TlsKeeper::rpc() const {
  rpc::RpcTls rules;
  rules.accept = [ssl = ssl_] { return ssl->accept(); };
  rules.connect = [ssl = ssl_](const std::string& host) { return ssl->connect(host); };
  rules.verify_server = [door = door_](SSL* connection) {
    return door->verify(pki::shown_certificate(*connection), remote_host(SSL_get_fd(connection)),
                        true);
  };
  return rules;
}

Result<std::shared_ptr<const Peer>> TlsKeeper::read(std::string_view pem) const {
  return door_->peers.read(pem);
}

}  // namespace muster::server
