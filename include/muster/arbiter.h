#pragma once

#include <muster/status.h>

#include <cstdint>
#include <memory>
#include <ratio>
#include <stop_token>
#include <string>

namespace muster::api {
class Connection;
}

MUSTER_BEGIN_NAMESPACE

/// std::chrono::nanoseconds: every duration of `chrono` converts to it. (`stop_token` declares it;
/// all of `chrono` takes a compiler several times as long to read.)
using Duration = std::chrono::duration<std::int64_t, std::nano>;

/// A fencing token: rises with every term of an election, also across restarts. Send it with every
/// effect, and let the resource refuse lower tokens.
using Token = std::uint64_t;

/// PEM files for an arbiter or a cluster with TLS. Without any of them, connections are not
/// encrypted.
struct Tls {
  std::string ca_file{};    ///< CA certificate that verifies the servers; empty: the system's.
  std::string cert_file{};  ///< Client certificate; requires key_file.
  std::string key_file{};   ///< Private key of the client certificate.
};

/// The store that decides elections: a directory, an S3 bucket, an etcd, a musterd.
///
/// A handle: copies are cheap and share one connection and its two threads, one for the work and
/// one for your callbacks. Both end with the last copy and everything made from it, in any order of
/// destruction.
///
/// Threads: any. Different threads may use different copies.
class MUSTER_EXPORT Arbiter {
 public:
  Arbiter(const Arbiter&);
  Arbiter& operator=(const Arbiter&);
  ~Arbiter();

  /// Opens `file:///dir`, `s3://bucket/prefix?region=…`, `postgres://user@host/database`,
  /// `etcd://host:2379/prefix`, `muster://host:9000/prefix`, a scheme of your own (store.h) or, for
  /// tests within one process, `memory:`.
  ///
  /// A server need not answer yet. Returns kInvalid and the fault of the address or of a file.
  [[nodiscard]] static Result<Arbiter> open(const std::string& url, const Tls& tls = {});

  /// Checks whether the store keeps the promises that elections rely on, with an object of its own.
  /// kUnsupported: it does not, and two leaders would be a matter of time. Any other error is no
  /// verdict. Takes about fifteen requests. Every participant of an election does this by itself
  /// before it campaigns.
  [[nodiscard]] Status probe() const;

  /// The address without secrets.
  [[nodiscard]] std::string describe() const;

 private:
  friend class muster::api::Connection;
  explicit Arbiter(std::shared_ptr<muster::api::Connection> connection);
  std::shared_ptr<muster::api::Connection> connection_;
};

MUSTER_END_NAMESPACE
