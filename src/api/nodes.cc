#include <muster/nodes.h>

#include <algorithm>
#include <future>
#include <utility>

#include "api/cluster.h"

namespace muster::api {
namespace {

pub::Node public_node(const client::Node& node) {
  return {node.id.value(),
          node.address,
          static_cast<std::uint16_t>(node.port),
          static_cast<pub::NodeKind>(node.type),
          node.weight,
          static_cast<pub::NodeState>(node.state),
          std::string(service_of(node)),
          node.tags};
}

std::vector<pub::Node> public_nodes(const client::Owners& owners, std::size_t most) {
  std::vector<pub::Node> nodes;
  for (std::size_t i = 0; i < std::min(most, owners.size()); ++i) {
    nodes.push_back(public_node(owners[i]));
  }
  return nodes;
}

static_assert(static_cast<int>(client::NodeState::kSuspect) ==
              static_cast<int>(pub::NodeState::kSuspect));
static_assert(static_cast<int>(client::NodeType::kObject) ==
              static_cast<int>(pub::NodeKind::kObject));

}  // namespace

class ViewCore {
 public:
  std::shared_ptr<const client::TopologyView> view;
};

/// What the copies of a pub::Directory share. Any thread.
class DirectoryCore : public std::enable_shared_from_this<DirectoryCore> {
 public:
  DirectoryCore(std::shared_ptr<ClusterCore> cluster, pub::DirectoryOptions options)
      : cluster_(std::move(cluster)), options_(std::move(options)) {}

  [[nodiscard]] pub::Status follow() {
    // Changes may come while the watch is being made: they wait for it.
    const std::lock_guard lock(mutex_);
    auto services = client::ServiceFilter::parse(options_.service);
    if (!services) return api::to_public(services.error());
    client::WatchConfig config;
    config.services = std::move(*services);
    auto watch =
        client::watch_topology_with_recovery(cluster_->client(), config,
                                             [weak = weak_from_this(), cluster = cluster_.get(),
                                              tells = static_cast<bool>(options_.on_change)](
                                                 const client::WatchEvent&, TopologyVersion) {
                                               if (!tells) return;
                                               cluster->callbacks().post([weak] {
                                                 if (const auto core = weak.lock()) core->tell();
                                               });
                                             });
    if (!watch) return api::to_public(watch.error());
    watch_ = std::move(*watch);
    if (watch_->wait_for_topology(options_.wait)) return pub::Done{};
    return {pub::Code::kTimeout, "no server has sent the registry in time"};
  }
  [[nodiscard]] pub::View view() {
    const std::lock_guard lock(mutex_);
    if (!watch_) return {};
    return pub::View(std::make_shared<const ViewCore>(ViewCore{watch_->view()}));
  }
  /// The last handle is gone.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      watch_.reset();
    }
    if (!cluster_->callbacks().here()) cluster_->callbacks().wait();
  }

 private:
  void tell() {
    const pub::View now = view();
    const bool ended = now.version() == 0;
    if (!ended) options_.on_change(now);
  }

  const std::shared_ptr<ClusterCore> cluster_;
  const pub::DirectoryOptions options_;
  std::mutex mutex_;
  std::unique_ptr<client::TopologyWatch> watch_;
};

}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

Cluster::Cluster(std::shared_ptr<api::ClusterCore> core) : core_(std::move(core)) {}
Cluster::Cluster(const Cluster&) = default;
Cluster& Cluster::operator=(const Cluster&) = default;
Cluster::~Cluster() = default;

Result<Cluster> Cluster::connect(const std::string& servers, const Tls& tls) {
  return api::ClusterCore::connect(servers, tls);
}

Membership::Membership(std::shared_ptr<api::MembershipCore> core) : core_(std::move(core)) {}
Membership::Membership(Membership&&) noexcept = default;
Membership& Membership::operator=(Membership&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->end();
  core_ = std::move(other.core_);
  return *this;
}
Membership::~Membership() {
  if (core_) core_->end();
}

Result<Membership> Membership::join(const Cluster& cluster, const Node& node,
                                    MembershipOptions options) {
  auto core = api::MembershipCore::join(cluster, node, std::move(options));
  if (!core) return core.error();
  return Membership(std::move(*core));
}

static Error membership_moved_from() {
  return {Code::kInvalid, "this Membership was moved from"};
}

std::optional<Duration> Membership::silence() const {
  return core_ ? core_->silence() : std::nullopt;
}
Status Membership::drain(bool draining) {
  if (!core_) return membership_moved_from();
  return core_->drain(draining);
}
Status Membership::leave() {
  if (!core_) return membership_moved_from();
  return core_->leave();
}

View::View() = default;
View::View(std::shared_ptr<const api::ViewCore> core) : core_(std::move(core)) {}

std::uint64_t View::version() const {
  return core_ ? core_->view->version().value() : 0;
}
std::size_t View::size() const {
  return core_ ? core_->view->size() : 0;
}
std::vector<Node> View::nodes() const {
  std::vector<Node> all;
  all.reserve(size());
  if (core_)
    core_->view->for_each([&](const auto& node) { all.push_back(api::public_node(node)); });
  return all;
}
std::optional<Node> View::find(const std::string& id) const {
  const auto* found = core_ ? core_->view->find(id) : nullptr;
  if (found == nullptr) return {};
  return api::public_node(*found);
}
std::vector<Node> View::owners(const std::string& key, std::size_t most) const {
  if (!core_) return {};
  return api::public_nodes(core_->view->owners(key), most);
}
std::vector<Node> View::owners_of(const std::string& service, const std::string& key,
                                  std::size_t most) const {
  if (!core_ || service.empty()) return {};
  return api::public_nodes(core_->view->owners(key, service), most);
}

Directory::Directory(std::shared_ptr<api::DirectoryCore> core) : core_(std::move(core)) {}

Result<Directory> Directory::follow(const Cluster& cluster, DirectoryOptions options) {
  const std::shared_ptr<api::ClusterCore>& shared = api::ClusterCore::of(cluster);
  if (shared->callbacks().here()) return api::waits_for_callbacks("follow()");
  const auto core = std::make_shared<api::DirectoryCore>(shared, std::move(options));
  const std::shared_ptr<api::DirectoryCore> handle(core.get(),
                                                   [core](api::DirectoryCore*) { core->end(); });
  if (Status followed = core->follow(); !followed) return followed.error();
  return Directory(handle);
}

View Directory::view() const {
  return core_->view();
}

MUSTER_END_NAMESPACE
