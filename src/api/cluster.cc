#include "api/cluster.h"

#include <utility>

#include "core/membership/node.h"
#include "platform/doorbell.h"
#include "platform/system_clock.h"

namespace muster::api {
namespace {

constexpr Duration kLeaveTime = 10s;

NodeId node_id(const std::string& id) {
  return NodeId(id);
}

}  // namespace

pub::Result<pub::Cluster> ClusterCore::connect(const std::string& servers, const pub::Tls& tls) {
  quiet_log();
  auto list = client::parse_servers(servers);
  if (!list) return to_public(list.error());
  const SignalsBlocked blocked;
  std::shared_ptr<ClusterCore> core(new ClusterCore(), &ClusterCore::end);
  auto made = client::SmartCoordinatorClient::create(std::move(*list), {},
                                                     {tls.ca_file, tls.cert_file, tls.key_file});
  if (!made) return to_public(made.error());
  core->client_ = std::move(*made);
  return pub::Cluster(std::move(core));
}

void ClusterCore::end(ClusterCore* core) {
  const bool elsewhere =
      core->callbacks_.here() || (core->client_ != nullptr && core->client_->runtime().on_thread());
  if (!elsewhere) {
    delete core;
    return;
  }
  // Nobody has waited for what was asked for last.
  end_elsewhere([core] {
    if (core->agent_) (void)core->agent_->stop(kLeaveTime);
    delete core;
  });
}

Result<client::NodeAgent*> ClusterCore::agent() {
  const std::lock_guard lock(making_);
  if (agent_) return agent_.get();
  client::WatchConfig config;
  config.services = client::ServiceFilter::all();
  auto watch = client::watch_topology_with_recovery(
      *client_, config, [this](const client::WatchEvent&, TopologyVersion) { look(); });
  if (!watch) return watch.error();
  watch_ = std::move(*watch);
  watching_.store(watch_.get());
  client_->runtime().run([this] { look(); });
  auto made = client::NodeAgent::start(*client_, {},
                                       [this](const client::AgentEvent& event) { heard(event); });
  if (!made) return made.error();
  agent_ = std::move(*made);
  return agent_.get();
}

Status ClusterCore::enter(const std::string& id, std::weak_ptr<MembershipCore> member) {
  const std::lock_guard lock(mutex_);
  if (members_.emplace(id, std::move(member)).second) return Done{};
  return {Errc::kConflict, "this process keeps node " + id + " registered already"};
}

void ClusterCore::leave(const std::string& id) {
  const std::lock_guard lock(mutex_);
  members_.erase(id);
}

// Of the node `id`, or all.
std::vector<std::shared_ptr<MembershipCore>> ClusterCore::members(const std::string& id) {
  std::vector<std::shared_ptr<MembershipCore>> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, weak] : members_) {
    auto member = weak.lock();
    if (member && (id.empty() || id == name)) found.push_back(std::move(member));
  }
  return found;
}

// On the client's thread, as the next one.
void ClusterCore::heard(const client::AgentEvent& event) {
  for (const auto& member : members(event.node.value())) member->heard(event);
}

void ClusterCore::look() {
  const client::TopologyWatch* watch = watching_.load();
  if (watch == nullptr) return;
  const auto view = watch->view();
  for (const auto& member : members("")) member->seen(*view);
}

pub::Result<MembershipCore::Core> MembershipCore::join(const pub::Cluster& cluster,
                                                       const pub::Node& node,
                                                       pub::MembershipOptions options) {
  const std::shared_ptr<ClusterCore>& shared = ClusterCore::of(cluster);
  if (shared->callbacks().here()) return waits_for_callbacks("join()");
  auto agent = shared->agent();
  if (!agent) return to_public(agent.error());
  client::NodeSpec spec;
  spec.id = node_id(node.id);
  spec.address = node.address;
  spec.port = node.port;
  spec.type = static_cast<client::NodeType>(node.kind);
  if (!node.service.empty()) membership::set_service(spec, node.service);
  spec.tags = node.tags;
  spec.weight = node.weight;
  spec.generation = client::Generation(system_random().uuid());
  auto core =
      std::make_shared<MembershipCore>(shared, node.id, spec.generation, std::move(options));
  if (Status entered = shared->enter(node.id, core); !entered) return to_public(entered.error());
  Status added = (*agent)->add(std::move(spec));
  if (!added) {
    shared->leave(node.id);
    return to_public(added.error());
  }
  if (pub::Status in = core->wait_until_active(); !in) {
    core->drop();
    return in.error();
  }
  return core;
}

pub::Status MembershipCore::wait_until_active() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, options_->wait, [this] { return active_ || over_; });
  if (active_) return pub::Done{};
  const std::string why = trouble_.empty() ? "no server has answered" : trouble_;
  return {over_ ? pub::Code::kInvalid : pub::Code::kTimeout,
          "node " + id_ + " is not active: " + why};
}

void MembershipCore::heard(const client::AgentEvent& event) {
  using Kind = client::AgentEventKind;
  const std::string node = "node " + id_;
  {
    const std::lock_guard lock(mutex_);
    over_ = over_ || event.final;
    if (!event.reason.empty()) trouble_ = event.reason;
    changed_.notify_all();
  }
  switch (event.kind) {
    case Kind::kLost:
      return tell(pub::Code::kUnavailable, node + " was lost and registers anew: " + event.reason);
    case Kind::kReplaced:
      return tell(pub::Code::kConflict,
                  "another process has taken the place of " + node + ": " + event.reason);
    case Kind::kRefused:
      return tell(pub::Code::kDenied, node + " was refused: " + event.reason);
    case Kind::kUnreachable:
      return tell(pub::Code::kUnavailable,
                  "heartbeats of " + node + " are not acknowledged: " + event.reason);
    case Kind::kRegistered:
    case Kind::kDeregistered:
    case Kind::kReachable:
      return;
  }
}

void MembershipCore::seen(const client::TopologyView& view) {
  const client::Node* node = view.find(id_);
  if (node == nullptr || node->generation != generation_) return;
  const std::lock_guard lock(mutex_);
  if (node->state == client::NodeState::kActive) active_ = true;
  changed_.notify_all();
}

void MembershipCore::tell(pub::Code code, const std::string& message) {
  if (!options_->on_trouble) return;
  cluster_->callbacks().post([options = options_, code, message] {
    options->on_trouble({code, message});
  });
}

std::optional<Duration> MembershipCore::silence() {
  return agent().silence();
}

pub::Status MembershipCore::drain(bool draining) {
  return to_public(agent().drain(node_id(id_), draining));
}

pub::Status MembershipCore::leave() {
  if (cluster_->callbacks().here()) return waits_for_callbacks("leave()");
  bool out = true;
  if (agent().remove(node_id(id_)).ok()) {
    std::unique_lock lock(mutex_);
    out = changed_.wait_for(lock, kLeaveTime, [this] { return over_; });
  }
  cluster_->leave(id_);
  cluster_->callbacks().wait();
  if (out) return pub::Done{};
  return {pub::Code::kTimeout, "no server has confirmed that node " + id_ + " left"};
}

void MembershipCore::end() {
  if (!cluster_->callbacks().here()) {
    (void)leave();
    return;
  }
  drop();
}

void MembershipCore::drop() {
  (void)agent().remove(node_id(id_));
  cluster_->leave(id_);
}

}  // namespace muster::api
