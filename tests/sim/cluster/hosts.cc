#include "tests/sim/cluster/hosts.h"

#include <utility>

#include "client/requests.h"
#include "client/wire.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/store.pb.h"

namespace muster::sim {
namespace {

constexpr const char* kHeartbeats = "/muster.v1.CoordinatorService/HeartbeatStream";
constexpr const char* kTopologyWatch = "/muster.v1.CoordinatorService/WatchTopology";
constexpr const char* kStoreWatch = "/muster.v1.StoreService/Watch";
constexpr int kKeys = 3;
constexpr Duration kCallTimeout = 4s;

client::NodeSpec spec_of(int node) {
  client::NodeSpec spec;
  spec.id = NodeId("n" + std::to_string(node));
  spec.address = "10.0.0." + std::to_string(node);
  spec.port = 7000;
  membership::set_service(spec, node % 3 == 1 ? "search" : "object");
  if (node % 3 != 0) spec.tags = {{"zone", std::to_string(node)}, {"spare", ""}};
  return spec;
}

}  // namespace

void Host::start() {
  Random& random = setting_.world.random();
  ++life_;
  rate_ = 1 - setting_.slew + 2 * setting_.slew * random.unit();
  process_ = std::make_unique<Process>(setting_.world, rate_, random.between(0s, 1h));
  begin();
}

void Host::kill() {
  if (!runs()) return;
  setting_.network.crash(name_);
  process_->kill();
  end();
  bury(std::move(process_));
}

void EngineHost::begin() {
  store_ = std::make_unique<FaultyStore>(setting_.world, *process_, setting_.store);
}

void ServerHost::begin() {
  EngineHost::begin();
  ServerConfig config = setting_.server;
  config.id = name_.substr(0, name_.find(':'));
  peers_ = std::make_unique<SimPeers>(setting_.network, name_, *process_);
  access_ = std::make_unique<server::AccessControl>(*process_, server::AccessControl::Options{});
  observer_ = std::make_unique<server::Observer>(
      *process_, metrics_, server::Observer::Options{config.id, "simulated", config.membership});
  const auto fatal = [this](const Error& error) {
    if (setting_.on_fatal) return setting_.on_fatal(name_, error);
    setting_.invariants.violate(name_ + " cannot go on: " + error.message);
  };
  const auto open_engine = [this](const std::string&) -> Result<std::unique_ptr<ObjectStore>> {
    if (!setting_.target) return {Errc::kUnsupported, "there is one engine in this simulation"};
    return std::unique_ptr<ObjectStore>(
        std::make_unique<FaultyStore>(setting_.world, *process_, setting_.target(name_)));
  };
  peer_ =
      std::make_unique<server::ClusterPeer>(config, server::ClusterPeer::Surroundings{*process_,
                                                                                      *store_,
                                                                                      *peers_,
                                                                                      *access_,
                                                                                      name_,
                                                                                      random(),
                                                                                      fatal,
                                                                                      *observer_,
                                                                                      {},
                                                                                      open_engine,
                                                                                      [](bool) {}});
  setting_.network.listen(name_, *process_, [this](const rpc::CallPtr& call) {
    if (access_->admit(call)) peer_->dispatch(call);
  });
  process_->post([this] { peer_->start(); });
}

void ServerHost::end() {
  peer_.reset();
  observer_.reset();
  access_.reset();
  peers_.reset();
  EngineHost::end();
}

void ClientHost::begin() {
  client::RetryConfig retry;
  retry.attempt_timeout = patience;
  transport_ = std::make_unique<SimTransport>(setting_.network, name_, *process_);
  caller_ = std::make_unique<client::Caller>(*transport_, setting_.servers, retry, random());
}

void ClientHost::end() {
  caller_.reset();
  transport_.reset();
}

NodeId AgentHost::id(std::size_t which) const {
  return spec_of(nodes_[which]).id;
}

void AgentHost::begin() {
  ClientHost::begin();
  transport_->tap = [this](const std::string& method, bool sent, const std::string& message) {
    heard(method, sent, message);
  };
  client::AgentConfig config;
  config.heartbeat_interval = setting_.server.membership.heartbeat_interval;
  config.answer_timeout = 2s;
  config.delay_max = 3s;
  session_ = std::make_unique<client::AgentSession>(
      *caller_, config, [this](const client::AgentEvent& event) {
        if (event.kind != client::AgentEventKind::kRegistered) return;
        setting_.invariants.registration_acknowledged(event.node, event.generation);
      });
  for (std::size_t i = 0; i < nodes_.size(); ++i) add(i);
}

void AgentHost::end() {
  session_.reset();
  ClientHost::end();
}

void AgentHost::add(std::size_t which) {
  session_->machine().add(spec_of(nodes_[which]), process_->now());
  process_->post([this] { session_->pump(); });
}

void AgentHost::set_draining(std::size_t which, bool draining) {
  session_->machine().set_draining(id(which), draining, process_->now());
  session_->pump();
}

void AgentHost::remove(std::size_t which) {
  session_->machine().remove(id(which), process_->now());
  session_->pump();
}

void AgentHost::heard(const std::string& method, bool sent, const std::string& message) {
  if (method != kHeartbeats) return;
  if (sent) {
    v1::HeartbeatBatch batch;
    (void)batch.ParseFromString(message);
    batch_.clear();
    for (const auto& beat : batch.heartbeats()) {
      batch_.emplace_back(beat.node_id(), membership::Generation(beat.generation_id()));
    }
    batch_sent_ = setting_.world.now();
    return;
  }
  v1::HeartbeatBatchResponse response;
  (void)response.ParseFromString(message);
  std::vector<bool> refused(batch_.size());
  for (const auto& refusal : response.refused()) refused.at(refusal.position()) = true;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (refused[i]) continue;
    setting_.invariants.beat_acknowledged(batch_[i].first, batch_[i].second, batch_sent_);
  }
}

void WatcherHost::begin() {
  ClientHost::begin();
  version_ = {};
  store_at_ = 0;
  transport_->tap = [this](const std::string& method, bool sent, const std::string& message) {
    if (method != kTopologyWatch) return;
    if (sent) {
      v1::WatchTopologyRequest request;
      (void)request.ParseFromString(message);
      return setting_.invariants.watch_began(name_, services_.text(),
                                             TopologyVersion(request.since_version()));
    }
    if (const auto update = client::decode_update(message)) {
      setting_.invariants.watch_heard(name_, *update);
    }
  };
  client::WatchConfig config;
  config.delay_max = 2s;
  config.first_message_max = 4s;
  config.silence_max = 15s;
  config.services = services_;
  store_timer_ = std::make_unique<Timer>(*process_);
  process_->post([this, config] {
    session_ = std::make_unique<client::WatchSession>(
        *caller_, config, [this](const client::WatchEvent& event) {
          version_ = event.view->version();
          setting_.invariants.view_shown(name_, *event.view);
        });
    open_store_watch();
  });
}

void WatcherHost::end() {
  session_.reset();
  store_stream_.reset();
  store_timer_.reset();
  ClientHost::end();
}

void WatcherHost::open_store_watch() {
  const std::string server = caller_->board().choose(client::Aim::kAny, {});
  setting_.invariants.store_watch_began(name_, store_at_);
  store_stream_ = caller_->connection(server).stream(
      kStoreWatch, {},
      {[this](const std::string& message) { store_heard(message); },
       [this, server](const client::RpcStatus&) {
         caller_->board().failed(server);
         store_stream_.reset();
         store_timer_->arm(500ms, [this] { open_store_watch(); });
       }});
  v1::StoreWatchRequest request;
  request.set_prefix("k");
  request.set_after_revision(store_at_);
  store_stream_->send(request.SerializeAsString());
  store_stream_->close();
}

void WatcherHost::store_heard(const std::string& message) {
  v1::StoreWatchResponse response;
  (void)response.ParseFromString(message);
  std::vector<Invariants::StoreEvent> events;
  for (const auto& event : response.events()) {
    Invariants::StoreEvent seen{event.object().revision(), event.object().key(), {}};
    if (!event.removed()) seen.value = event.object().value();
    events.push_back(std::move(seen));
  }
  setting_.invariants.store_watch_heard(name_, events, response.reset(), response.revision());
  store_at_ = response.revision();
}

void StoreClientHost::begin() {
  ClientHost::begin();
  known_.clear();
  writing_.reset();
  store_ = std::make_unique<ClusterStore>(*caller_);
  timer_ = std::make_unique<Timer>(*process_);
  next();
}

void StoreClientHost::end() {
  timer_.reset();
  store_.reset();
  ClientHost::end();
}

void StoreClientHost::next() {
  timer_->arm(setting_.world.random().between(50ms, 2500ms), [this] { act(); });
}

void StoreClientHost::act() {
  Random& random = setting_.world.random();
  const std::string key = "k" + std::to_string(random.below(kKeys));
  const auto known = known_.find(key);
  const std::uint64_t choice = random.below(100);
  if (known == known_.end() || choice < 35) return read(key);
  if (choice < 38) return put(key, Precondition::none());
  if (choice < 45) return remove(key, known->second);
  put(key, known->second ? Precondition::at(*known->second) : Precondition::absent());
}

void StoreClientHost::resent() {
  if (writing_) setting_.invariants.history().again(*writing_, setting_.world.now());
}

void StoreClientHost::read(const std::string& key) {
  const auto id = setting_.invariants.history().read(key, setting_.world.now());
  store_->get(key, {}, process_->now() + 2 * patience, [this, key, id](const Result<Object>& got) {
    setting_.invariants.history().answered(id, got, setting_.world.now());
    if (got) {
      known_[key] = got->revision;
    } else if (got.is(Errc::kNotFound)) {
      known_[key] = std::nullopt;
    }
    if (got || got.is(Errc::kNotFound)) last_read_ = setting_.world.now();
    next();
  });
}

void StoreClientHost::put(const std::string& key, Precondition when) {
  const std::string value = name_ + "-" + std::to_string(life()) + "-" + std::to_string(++writes_);
  const auto id = setting_.invariants.history().put(key, value, when, setting_.world.now());
  writing_ = id;
  store_->put(key, value, std::move(when), process_->now() + 2 * patience,
              [this, key, value, id](const Result<Revision>& put) {
                writing_.reset();
                setting_.invariants.history().answered(id, put, setting_.world.now());
                known_.erase(key);
                if (put) {
                  known_[key] = *put;
                  last_written_ = setting_.world.now();
                  setting_.invariants.write_acknowledged(key, value, *put);
                } else if (setting_.world.random().chance(0.5)) {
                  // What the answer says of the write must agree with what is there now.
                  return read(key);
                }
                next();
              });
}

void StoreClientHost::remove(const std::string& key, std::optional<Revision> when) {
  const auto id = setting_.invariants.history().remove(key, when, setting_.world.now());
  writing_ = id;
  store_->remove(key, when, process_->now() + 2 * patience, [this, key, id](const Status& removed) {
    writing_.reset();
    setting_.invariants.history().answered(id, removed, setting_.world.now());
    known_.erase(key);
    next();
  });
}

void OperatorHost::ask(client::WireRequest request) {
  caller_->start(std::move(request), process_->now() + kCallTimeout,
                 [](const Result<std::string>&) {});
}

void OperatorHost::drain(const NodeId& node, bool cancel) {
  ask(encode(client::DrainNode{node, cancel}));
}

void OperatorHost::transfer_leadership() {
  ask(encode(client::TransferLeadership{}));
}

void OperatorHost::set_ring(std::uint32_t virtual_nodes) {
  ask(encode(client::SetHashRing{{virtual_nodes, 2}}));
}

void CandidateHost::begin() {
  ClientHost::begin();
  CandidateOptions options;
  options.node = WorkerId(name_);
  options.lease = kSingletonLease;
  options.renew_interval = 1200ms;
  options.takeover_delay = 500ms;
  WorkHabits habits;
  habits.start_max = 500ms;
  habits.stop_max = 700ms;
  habits.ignores_stop = 0.2;
  store_ = std::make_unique<ClusterStore>(*caller_);
  work_ = std::make_unique<SimulatedWork>(setting_.world, *process_, rate(), name_,
                                          options.timings().kill_margin, habits, setting_.journal);
  candidate_ = std::make_unique<Candidate>(
      kSingleton, options,
      Candidate::Surroundings{
          *process_, *store_, *work_, random(), [](const telemetry::Event&) {}, {}});
  process_->post([this] { candidate_->start(); });
}

void CandidateHost::end() {
  candidate_.reset();
  store_.reset();
  work_->parent_died();
  ClientHost::end();
}

void CandidateHost::bury(std::unique_ptr<Process> process) {
  orphans_.emplace_back(std::move(process), std::move(work_));
}

void WorkerHost::begin() {
  EngineHost::begin();
  CoordinatorOptions options;
  options.worker_id = WorkerId(name_);
  options.pod = name_;
  options.heartbeat_interval = 1s;
  options.heartbeat_jitter = 200ms;
  options.lease_timeout = 4s;
  options.worker_timeout = 8s;
  options.startup_jitter_max = 1s;
  coordinator_ = std::make_unique<NamespaceCoordinator>(
      "fleet", options,
      NamespaceCoordinator::Surroundings{*process_, *process_, *store_, random(), {}});
  process_->post([this] { coordinator_->start(); });
}

void WorkerHost::end() {
  coordinator_.reset();
  EngineHost::end();
}

}  // namespace muster::sim
