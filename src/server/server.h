#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "log/move.h"
#include "platform/event_loop.h"
#include "server/cluster_peer.h"
#include "server/config/config.h"
#include "server/engine/managed_engine.h"
#include "server/gateway/call_desk.h"
#include "server/rpc/rpc_server.h"
#include "server/security/access_control.h"
#include "server/security/tls_keeper.h"
#include "server/web/metrics.h"
#include "server/web/observer.h"
#include "server/web/web_server.h"
#include "store/etcd/access_probe.h"
#include "store/store.h"

namespace muster {

/// One musterd: it listens, runs its engine, and takes part in the cluster.
///
/// Every call passes access control first. Threads: loop thread only. Call stop() before destroying
/// it; otherwise it ends as in a crash, without a hand-over.
class Server {
 public:
  struct Surroundings {
    EventLoop& loop;
    Random random;
    /// The server cannot go on, and this is why.
    std::function<void(const Error&)> on_fatal;
    /// The backup of config.restore is in the engine: there is nothing else to do.
    std::function<void(rlog::Index)> on_restored;
    /// What is shown at / over HTTP.
    std::span<const server::PageFile> page{};
  };

  /// `config` is complete and valid.
  Server(const ServerConfig& config, Surroundings surroundings);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Listens, and returns the address for clients. The engine and the state follow; until then,
  /// calls are refused as UNAVAILABLE.
  [[nodiscard]] Result<std::string> start();
  /// Applies the limits in `config`, and reads certificates, revocation lists and the audit log's
  /// file again. Existing connections are not affected.
  void reload(const ServerConfig& config);
  /// Hands over what it leads, ends every call and the engine, and then calls `done`.
  void stop(std::function<void()> done);

  /// Where the page and the metrics are, after start(): http://127.0.0.1:9002; empty: nowhere.
  [[nodiscard]] const std::string& http_address() const { return http_address_; }
  [[nodiscard]] server::Metrics& metrics() { return metrics_; }

 private:
  static constexpr const char* kAdmit = "/muster.v1.PeerService/Admit";

  [[nodiscard]] Status start_http();
  [[nodiscard]] server::Observer::Options observer_options();
  /// Who has shown this certificate, or the host it comes from.
  [[nodiscard]] rpc::Client client_of(std::string_view certificate,
                                      const std::string& remote) const;
  void refused_connection(rpc::Refusal why, const std::string& remote);
  void refused_client(rpc::Breach breach, const std::string& remote, std::string_view certificate,
                      const std::string& why);
  [[nodiscard]] Status start_guard();
  void keep_for_engine(const std::string& crl);
  [[nodiscard]] bool let_in(const rpc::CallPtr& call);
  void dispatch(const rpc::CallPtr& call);
  void close_http();
  void start_engine();
  void reach_engine();
  void join(const std::string& url);
  void restore();
  void ask_admission(std::vector<std::string> contacts, engine::Admission request,
                     std::function<void(Result<engine::Members>)> done);
  void admit(const rpc::CallPtr& call);

  ServerConfig config_;
  EventLoop& loop_;
  Random random_;
  std::function<void(const Error&)> on_fatal_;
  std::function<void(rlog::Index)> on_restored_;
  std::span<const server::PageFile> page_;
  std::string address_;
  std::string http_address_;
  bool stopping_ = false;
  server::Metrics metrics_;
  server::Observer observer_;
  std::optional<server::AuditLog> audit_;
  std::optional<server::TlsKeeper> tls_;
  std::optional<server::AccessControl> access_;
  std::unique_ptr<rpc::RpcServer> rpc_;
  std::unique_ptr<ManagedEngine> engine_;
  std::unique_ptr<etcd::AccessProbe> access_probe_;
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<rlog::Restore> restore_;
  std::unique_ptr<server::ClusterPeer> peer_;
  std::unique_ptr<server::CallDesk> desk_;  ///< Of HTTP clients.
  std::unique_ptr<server::WebServer> http_;
  Lifetime lifetime_;
};

}  // namespace muster
