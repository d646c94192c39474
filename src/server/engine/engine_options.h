#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/engine/members.h"
#include "core/engine/start_plan.h"
#include "server/config/config.h"
#include "store/open/open.h"

namespace muster::engine {

/// Asks the servers at `contacts` (host:port of their gRPC), one after another, to admit this one;
/// the answer is the list of members with it. kThrottled and kUnavailable are asked again.
using AskAdmission = std::function<void(std::vector<std::string> contacts, Admission request,
                                        std::function<void(Result<Members>)> done)>;

/// What a managed engine is made of.
struct EngineOptions {
  std::string name;
  Address peer;                          ///< Where the other members reach this one.
  Address peer_listen;                   ///< Where it listens for them.
  std::map<std::string, Address> peers;  ///< The first members; empty for one that joins.
  std::vector<std::string> join;         ///< Whom to ask; empty unless it joins.
  std::string contact;                   ///< host:port of this musterd, told to servers that ask.
  std::string data_dir;
  TlsFiles tls;  ///< Between members; all three or none.
  /// The revocation list, read by etcd at each handshake; empty for none.
  std::string crl_file;
  std::uint64_t quota_bytes = std::uint64_t{2} << 30;
  std::string program = "etcd";
  std::string guardian;  ///< Path of muster-guardian.
  AskAdmission ask;      ///< Without it, a server that needs admission does not start.
  /// Until it serves, unless it only waits for the others; then, how often it says so.
  Duration start_timeout = 60s;
  Duration stop_grace = 5s;  ///< Between TERM and KILL.
  Duration upkeep_interval = 2s;

  [[nodiscard]] std::string peer_url(const Address& address) const {
    return (tls.cert.empty() ? "http://" : "https://") + address.to_string();
  }
  [[nodiscard]] std::string directory() const { return data_dir + "/engine"; }
  [[nodiscard]] std::string etcd_directory() const { return directory() + "/etcd"; }
  /// etcd makes a socket of this name in its working directory, which is directory().
  [[nodiscard]] std::string socket() const { return directory() + "/localhost:2379"; }
  /// Where a list that comes from a URL is put for etcd.
  [[nodiscard]] std::string fetched_crl() const { return directory() + "/crl"; }
  /// For open_store().
  [[nodiscard]] std::string store_url() const;
};

/// What the configuration says about a managed engine. `contact` is where this server is reached.
[[nodiscard]] EngineOptions engine_options(const ServerConfig& config, const std::string& contact);

/// The command line of etcd. kInvalid when a certificate cannot be read.
[[nodiscard]] Result<std::vector<std::string>> etcd_command(const EngineOptions& options,
                                                            const StartPlan& plan);

}  // namespace muster::engine
