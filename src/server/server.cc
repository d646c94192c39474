#include "server/server.h"

#include <utility>

#include "base/log.h"
#include "log/archive.h"
#include "log/keys.h"
#include "muster/v1/peer.pb.h"
#include "server/rpc/message.h"
#include "store/open.h"

namespace muster {
namespace {

constexpr const char* kAdmit = "/muster.v1.PeerService/Admit";
constexpr Duration kAdmitTimeout = 10s;
constexpr Duration kDrainLimit = 200ms;

v1::AdmitResponse to_proto(const engine::Members& members) {
  v1::AdmitResponse response;
  for (const engine::Member& member : members) {
    v1::EngineMember& out = *response.add_members();
    out.set_id(member.id);
    out.set_name(member.name);
    out.set_peer_url(member.peer_url);
    for (const std::string& contact : member.contacts) out.add_contacts(contact);
    out.set_learner(member.learner);
  }
  return response;
}

engine::Members to_members(const v1::AdmitResponse& response) {
  engine::Members members;
  for (const v1::EngineMember& in : response.members()) {
    members.push_back({in.id(),
                       in.name(),
                       in.peer_url(),
                       {in.contacts().begin(), in.contacts().end()},
                       in.learner()});
  }
  return members;
}

}  // namespace

Server::Server(const ServerConfig& config, Surroundings surroundings)
    : config_(config),
      loop_(surroundings.loop),
      random_(surroundings.random),
      on_fatal_(std::move(surroundings.on_fatal)),
      on_restored_(std::move(surroundings.on_restored)),
      rpc_(loop_,
           {config_.listen.to_string(),
            config_.id,
            {"muster.v1.CoordinatorService", "muster.v1.StoreService", "muster.v1.AdminService"}},
           [this](const rpc::CallPtr& call) { dispatch(call); }) {}

Server::~Server() {
  rpc_.close();
}

Result<std::string> Server::start() {
  const auto port = rpc_.start();
  if (!port) return port.error();
  Address own = config_.advertise.value_or(config_.listen);
  if (!config_.advertise) own.port = static_cast<std::uint16_t>(*port);
  address_ = own.to_string();
  if (config_.managed()) {
    start_engine();
  } else {
    // Soon, and not now: a store that cannot be opened is told like any later trouble.
    loop_.post(lifetime_.wrap([this] { join(config_.engine); }));
  }
  return address_;
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

void Server::join(const std::string& url) {
  if (stopping_) return;
  auto store = open_store(url, loop_, {});
  if (!store) return on_fatal_(store.error());
  store_ = std::move(*store);
  if (!config_.restore.empty()) return restore();
  server::AdminService::RemoveMember remove_member;
  if (engine_) {
    remove_member = [this](const std::string& id, Callback<Done> done) {
      engine_->remove_member(id, std::move(done));
    };
  }
  peer_ = std::make_unique<server::ClusterPeer>(
      config_, server::ClusterPeer::Surroundings{
                   loop_, *store_, rpc_, address_, Random(random_.next()), on_fatal_,
                   std::move(remove_member),
                   [this](const std::string& engine) { return open_store(engine, loop_, {}); },
                   [this](bool serving) { rpc_.set_serving(serving); }});
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

void Server::dispatch(const rpc::CallPtr& call) {
  // The engine has members before there is a cluster to take part in.
  if (engine_ && call->method() == kAdmit) return admit(call);
  if (peer_ && !stopping_) return peer_->dispatch(call);
  const char* why = stopping_ ? "this server is stopping" : "this server is starting its engine";
  call->finish({rpc::Code::kUnavailable, why, {}});
}

void Server::admit(const rpc::CallPtr& call) {
  rpc::read_request<v1::AdmitRequest>(
      call, [this](const rpc::CallPtr& c, const v1::AdmitRequest& request, const std::string&) {
        engine_->admit({request.name(), request.peer_url()},
                       [c](const Result<engine::Members>& members) {
                         if (!members) return c->finish(rpc::to_status(members.error()));
                         rpc::reply(c, to_proto(*members));
                       });
      });
}

void Server::ask_admission(std::vector<std::string> contacts, engine::Admission request,
                           std::function<void(Result<engine::Members>)> done) {
  if (contacts.empty()) return done({Errc::kUnavailable, "none of the servers to join answers"});
  const std::string contact = contacts.front();
  contacts.erase(contacts.begin());
  v1::AdmitRequest message;
  message.set_name(request.name);
  message.set_peer_url(request.peer_url);
  rpc_.call_peer(contact, kAdmit, message.SerializeAsString(), kAdmitTimeout,
                 lifetime_.wrap([this, contacts = std::move(contacts), request = std::move(request),
                                 done = std::move(done)](const rpc::RpcStatus& status,
                                                         const std::string& answer) {
                   if (status.ok()) {
                     v1::AdmitResponse response;
                     if (response.ParseFromString(answer)) return done(to_members(response));
                     return done({Errc::kCorrupt, "the answer to joining cannot be read"});
                   }
                   const Error error = rpc::to_error(status);
                   if (error.code == Errc::kInvalid || contacts.empty()) return done(error);
                   ask_admission(contacts, request, done);
                 }));
}

void Server::stop(std::function<void()> done) {
  if (std::exchange(stopping_, true)) return;
  const auto close = [this, done = std::move(done)] {
    rpc_.close();
    peer_.reset();
    restore_.reset();
    store_.reset();
    if (!engine_) return done();
    engine_->stop(done);
  };
  // What was acknowledged on the last moments must not look cut off to its client.
  const auto end = [this, close] { rpc_.drain(kDrainLimit, [this, close] { loop_.post(close); }); };
  if (!peer_) return end();
  // Not from within the peer: it goes with what it calls.
  peer_->stop([this, end] { loop_.post(end); });
}

}  // namespace muster
