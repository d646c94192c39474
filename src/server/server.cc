#include "server/server.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "log/archive.h"
#include "log/keys.h"
#include "muster/v1/coordinator.pb.h"
#include "platform/system_clock.h"
#include "platform/unique_fd.h"
#include "platform/whole_file.h"
#include "server/cluster/log_identity.h"
#include "server/connection_room.h"
#include "server/rpc/message.h"
#include "server/web/metered_store.h"
#include "store/open/open.h"
#include "store/url.h"

namespace muster {
namespace {

constexpr const char* kHealthCheck = "/muster.v1.CoordinatorService/HealthCheck";
constexpr Duration kDrainLimit = 2s;
/// Of each store that holds the log, or is to hold it.
const StoreOptions kEngineOptions{.tls = {}, .stop_when_gone_back = true, .tls13_only = true};

/// Certificates at every door of this server are worth little when its engine has none.
void warn_of_plaintext(const etcd::Address& engine) {
  if (engine.names_files()) return;
  for (const std::string& endpoint : engine.endpoints) {
    const auto address = Address::parse(endpoint, 2379);
    if (!address || address->is_loopback()) continue;
    return log_warn("the engine is used without TLS: its network can read the state",
                    {{"engine", endpoint}});
  }
}

}  // namespace

Server::Server(const ServerConfig& config, Surroundings surroundings)
    : config_(config),
      loop_(surroundings.loop),
      random_(surroundings.random),
      on_fatal_(std::move(surroundings.on_fatal)),
      on_restored_(std::move(surroundings.on_restored)),
      page_(surroundings.page),
      observer_(loop_, metrics_, observer_options()) {}

Server::~Server() {
  if (rpc_) rpc_->close();
  close_http();
}

Status Server::start_guard() {
  if (!config_.audit_log.empty()) {
    audit_.emplace(server::AuditLog::Options{config_.audit_log});
    if (Status opened = audit_->open(); !opened) return opened;
  }
  if (!config_.insecure) {
    const TlsFiles& files = config_.tls;
    tls_.emplace(loop_,
                 server::TlsKeeper::Options{{files.cert, files.key, files.ca, config_.crl_file},
                                            config_.crl_url,
                                            {config_.crl_refresh, config_.crl_max_age},
                                            config_.data_dir,
                                            config_.id});
    tls_->on_change([this] {
      access_->recheck();
      if (rpc_) rpc_->forget_peers();
    });
    if (config_.managed() && !config_.crl_url.empty()) {
      tls_->on_list([this](const std::string& bytes) { keep_for_engine(bytes); });
    }
  }
  server::AccessControl::Options options;
  options.tls = tls_ ? &*tls_ : nullptr;
  if (config_.limited) options.limits = config_.limits;
  options.on_limited = [this](const char* reason) { metrics_.rejected(reason); };
  options.audit = audit_ ? &*audit_ : nullptr;
  options.position = [this] { return peer_ ? peer_->position() : server::AuditLog::Position{}; };
  access_.emplace(loop_, std::move(options));
  return tls_ ? tls_->start() : Status(Done{});
}

// etcd reads it at each handshake, and refuses everybody while it is not there.
void Server::keep_for_engine(const std::string& crl) {
  const std::filesystem::path file = engine::engine_options(config_, address_).crl_file;
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  const UniqueFd directory(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Status kept = files::write_whole(directory.get(), file.filename(), crl,
                                         files::Readers::kOwner, files::Existing::kReplace);
  if (kept) return;
  log_error("the engine continues with an earlier revocation list",
            {{"reason", kept.error().message}});
}

void Server::reload(const ServerConfig& config) {
  if (tls_) tls_->reload();
  if (access_) access_->use(config.limits);
  if (rpc_) {
    const server::ConnectionRoom room = server::connection_room(config);
    rpc_->limit_connections(room.clients, room.descriptors_max);
  }
  if (!audit_) return;
  if (const Status opened = audit_->open(); !opened) {
    log_error("the audit log continues in its earlier file", {{"reason", opened.error().message}});
  }
}

Result<std::string> Server::start() {
  if (Status own = server::claim_directory(config_.data_dir, config_.id); !own) return own.error();
  if (Status guarded = start_guard(); !guarded) return guarded.error();
  rpc::RpcServerOptions options;
  options.listen = config_.listen.to_string();
  options.id = config_.id;
  for (const char* name : {"Coordinator", "Store", "Election", "Lock", "Admin", "Observe"})
    options.services.push_back("muster.v1." + std::string(name) + "Service");
  options.admit = [this](const rpc::CallPtr& call) { return let_in(call); };
  const server::ConnectionRoom room = server::connection_room(config_);
  options.connections = room.clients;
  options.anteroom = room.anteroom;
  options.descriptors_max = room.descriptors_max;
  options.connection_refused = [this](rpc::Refusal why, const std::string& remote) {
    refused_connection(why, remote);
  };
  options.call_refused = [this] {
    metrics_.rejected("calls");
    log_warn("a call was refused: the maximum number is open");
  };
  options.cut = [this](rpc::Breach breach, const std::string& remote, std::string_view certificate,
                       const std::string& why) {
    refused_client(breach, remote, certificate, why);
  };
  options.client = [this](std::string_view certificate, const std::string& remote) {
    return client_of(certificate, remote);
  };
  if (tls_) {
    options.tls = tls_->rpc();
    options.tls->connection_age_max = config_.connection_max_age;
  }
  rpc_ = std::make_unique<rpc::RpcServer>(loop_, std::move(options),
                                          [this](const rpc::CallPtr& call) { dispatch(call); });
  const auto port = rpc_->start();
  if (!port) return port.error();
  Address own = config_.advertise.value_or(config_.listen);
  if (!config_.advertise) own.port = static_cast<std::uint16_t>(*port);
  address_ = own.to_string();
  if (Status served = start_http(); !served) return served.error();
  if (config_.managed()) {
    start_engine();
  } else {
    // Soon, and not now: a store that cannot be opened is told like any later trouble.
    loop_.post(lifetime_.wrap([this] { reach_engine(); }));
  }
  return address_;
}

void Server::refused_connection(rpc::Refusal why, const std::string& remote) {
  metrics_.rejected(why == rpc::Refusal::kFull ? "connections" : "handshakes");
  switch (why) {
    case rpc::Refusal::kFull:
      return log_warn("a connection was refused: too many descriptors are open",
                      {{"remote", remote}});
    case rpc::Refusal::kWaiting:
      return log_warn("a connection was closed: too many wait for their TLS handshake",
                      {{"remote", remote}});
    case rpc::Refusal::kSlow:
      return log_warn(
          "a connection was closed: it was silent or slow before TLS and HTTP/2 were agreed, and "
          "others waited",
          {{"remote", remote}});
  }
}

void Server::refused_client(rpc::Breach breach, const std::string& remote,
                            std::string_view certificate, const std::string& why) {
  const bool full = breach == rpc::Breach::kConnections;
  if (full) {
    metrics_.rejected(to_string(breach));
  } else {
    metrics_.cut(breach);
  }
  log_warn(full ? "a connection was refused" : "a connection was closed",
           {{"client", client_of(certificate, remote).name},
            {"remote", remote},
            {"limit", to_string(breach)},
            {"reason", why}});
}

rpc::Client Server::client_of(std::string_view certificate, const std::string& remote) const {
  if (!tls_ || certificate.empty()) return {.name = remote};
  const auto peer = tls_->read(certificate);
  if (!peer) return {.name = remote};
  const security::Identity& who = (*peer)->identity;
  const bool server = who.role == security::Role::kServer;
  return {std::string(to_string(who.role)) + " " + who.id,
          server ? rpc::ByteBudget::Whose::kServer : rpc::ByteBudget::Whose::kClient,
          server || who.role == security::Role::kAdmin};
}

server::Observer::Options Server::observer_options() {
  server::Observer::Options options;
  options.server = config_.id;
  options.engine = config_.engine.substr(0, config_.engine.find(':'));
  options.membership = config_.membership;
  options.engine_health = [this] { return engine_ ? engine_->health().words : std::string(); };
  options.refuses_all = [this] {
    const server::CrlKeeper* lists = tls_ ? tls_->revocations() : nullptr;
    return lists ? lists->health().closed_because.value_or("") : std::string();
  };
  options.engine_trouble = [this] {
    const bool serves = !engine_ || engine_->health().state == EngineHealth::State::kServing;
    return serves ? std::string() : engine_->trouble();
  };
  options.levels = [this](server::Metrics::Levels& levels) {
    if (rpc_) {
      levels.calls_open = static_cast<double>(rpc_->calls());
      levels.connections_open = static_cast<double>(rpc_->connections());
    }
    if (!tls_) return;
    if (const auto own = tls_->read(tls_->credentials().current().certificate)) {
      levels.certificate_left_s =
          std::chrono::duration<double>((*own)->not_after - loop_.wall_now()).count();
    }
    if (tls_->revocations() == nullptr) return;
    const server::CrlKeeper::Health lists = tls_->revocations()->health();
    levels.crl_failures = lists.failures;
    if (lists.age) levels.crl_age_s = std::chrono::duration<double>(*lists.age).count();
    if (!lists.term) return;
    levels.crl_term_s = std::chrono::duration<double>(lists.term->whole).count();
    levels.crl_left_s = std::chrono::duration<double>(lists.term->left).count();
  };
  return options;
}

void Server::start_engine() {
  engine::EngineOptions options = engine::engine_options(config_, address_);
  options.ask = [this](std::vector<std::string> contacts, engine::Admission request,
                       std::function<void(Result<engine::Members>)> done) {
    ask_admission(std::move(contacts), std::move(request), std::move(done));
  };
  engine_ = std::make_unique<ManagedEngine>(loop_, std::move(options));
  engine_->start(
      [this](const Result<std::string>& url) {
        if (!url) return on_fatal_(url.error());
        join(*url);
      },
      [this](const Error& error) { on_fatal_(error); });
}

// An etcd that is away is waited for. One that is there and wants another certificate is not: it
// would be waited for in vain.
void Server::reach_engine() {
  const auto url = Url::parse(config_.engine);
  if (stopping_ || !url || url->scheme != "etcd") return join(config_.engine);
  auto address = etcd::Address::read(*url);
  if (!address) return on_fatal_(address.error());
  warn_of_plaintext(*address);
  access_probe_ = std::make_unique<etcd::AccessProbe>(loop_, std::move(*address));
  access_probe_->start(lifetime_.wrap([this](const Status& let_in) {
    if (!let_in) return on_fatal_(let_in.error());
    // Not from within the probe, which has served.
    loop_.post(lifetime_.wrap([this] {
      access_probe_.reset();
      join(config_.engine);
    }));
  }));
}

void Server::join(const std::string& url) {
  if (stopping_) return;
  auto store = open_store(url, loop_, kEngineOptions);
  if (!store) return on_fatal_(store.error());
  store_ = std::make_unique<server::MeteredStore>(std::move(*store), loop_, metrics_);
  observer_.waiting("this server is loading its state");
  if (!config_.restore.empty()) return restore();
  server::AdminService::RemoveMember remove_member;
  if (engine_) {
    remove_member = [this](const std::string& id, Callback<Done> done) {
      engine_->remove_member(id, std::move(done));
    };
  }
  peer_ = std::make_unique<server::ClusterPeer>(
      config_,
      server::ClusterPeer::Surroundings{
          loop_, *store_, *rpc_, *access_, address_, Random(random_.next()), on_fatal_, observer_,
          std::move(remove_member),
          [this](const std::string& engine) { return open_store(engine, loop_, kEngineOptions); },
          [this](bool serving) { rpc_->set_serving(serving); }});
  peer_->start();
}

void Server::restore() {
  // From end to end before anything is written: a store that is half filled is of no use.
  if (Status whole = rlog::check_archive(config_.restore); !whole) return on_fatal_(whole.error());
  restore_ = std::make_unique<rlog::Restore>(loop_, Random(random_.next()),
                                             rlog::Place{*store_, rlog::kServerLog},
                                             rlog::archive_source(config_.restore));
  restore_->start(lifetime_.wrap([this](const Result<rlog::Index>& last) {
    if (!last) return on_fatal_(last.error());
    on_restored_(*last);
  }));
}

bool Server::let_in(const rpc::CallPtr& call) {
  // The call itself calls it: it is there.
  call->on_ended([this, of = call.get(), began = loop_.now()](const rpc::RpcStatus& end) {
    const std::string& method = of->method();
    const Duration took = loop_.now() - began;
    // How long a stream lasts is no measure of anything.
    metrics_.rpc_ended(method, end.code, took, server::AccessControl::lasts(method));
    if (method.ends_with("/Heartbeat")) observer_.heartbeat_answered(took);
  });
  return access_->admit(call);
}

void Server::dispatch(const rpc::CallPtr& call) {
  // The engine has members before there is a cluster to take part in.
  if (engine_ && call->method() == kAdmit) return admit(call);
  const bool ready = peer_ && peer_->open() && !stopping_;
  if (ready) return peer_->dispatch(call);
  const std::string why = stopping_ ? "this server is stopping" : observer_.verdict().reason;
  if (call->method() != kHealthCheck) {
    return access_->decline(call, {rpc::Code::kUnavailable, why, {}});
  }
  rpc::read_request<v1::HealthCheckRequest>(
      call, [this, why](const rpc::CallPtr& c, const v1::HealthCheckRequest&, const std::string&) {
        v1::HealthCheckResponse response;
        response.set_reason(why);
        response.set_server_id(config_.id);
        rpc::reply(c, response);
      });
}

void Server::stop(std::function<void()> done) {
  if (std::exchange(stopping_, true)) return;
  observer_.stopping();
  const auto close = [this, done = std::move(done)] {
    rpc_->close();
    close_http();
    peer_.reset();
    restore_.reset();
    store_.reset();
    access_probe_.reset();
    if (!engine_) return done();
    engine_->stop(done);
  };
  // What was acknowledged on the last moments must not look cut off to its client.
  const auto end_http = [this, close] {
    if (!desk_) return loop_.post(close);
    desk_->drain(kDrainLimit, [this, close] { loop_.post(close); });
  };
  const auto end = [this, end_http] { rpc_->drain(kDrainLimit, end_http); };
  if (!peer_) return end();
  // Not from within the peer: it goes with what it calls.
  peer_->stop([this, end] { loop_.post(end); });
}

}  // namespace muster
