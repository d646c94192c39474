#pragma once

#include <muster/nodes.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/connection.h"
#include "api/threads.h"
#include "client/coordinator_client.h"
#include "client/node_agent.h"
#include "client/topology_watch.h"

namespace muster::api {

class MembershipCore;

/// State shared by the handles of one cluster: a client, one agent for all its nodes, and the
/// thread of the program's callbacks. Threads: any.
class ClusterCore {
 public:
  [[nodiscard]] static pub::Result<pub::Cluster> connect(const std::string& servers,
                                                         const pub::Tls& tls);
  [[nodiscard]] static const std::shared_ptr<ClusterCore>& of(const pub::Cluster& cluster) {
    return cluster.core_;
  }
  ~ClusterCore() = default;
  ClusterCore(const ClusterCore&) = delete;
  ClusterCore& operator=(const ClusterCore&) = delete;

  [[nodiscard]] CallbackThread& callbacks() { return callbacks_; }
  [[nodiscard]] client::Client& client() { return *client_; }
  /// Made at the first request, with a watch that tells members of their nodes.
  [[nodiscard]] Result<client::NodeAgent*> agent();

  /// Events of the agent about `id` go to `member` from now on; kConflict when one has that id.
  [[nodiscard]] Status enter(const std::string& id, std::weak_ptr<MembershipCore> member);
  void leave(const std::string& id);

 private:
  ClusterCore() = default;
  static void end(ClusterCore* core);
  [[nodiscard]] std::vector<std::shared_ptr<MembershipCore>> members(const std::string& id);
  void heard(const client::AgentEvent& event);
  void look();

  CallbackThread callbacks_;
  std::unique_ptr<client::Client> client_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<MembershipCore>> members_;
  std::mutex making_;  ///< Of what follows, which ends before what it uses.
  std::unique_ptr<client::TopologyWatch> watch_;
  std::unique_ptr<client::NodeAgent> agent_;
  std::atomic<client::TopologyWatch*> watching_{nullptr};  ///< The watch, once it is made.
};

/// The implementation of a pub::Membership. Threads: any.
class MembershipCore {
 public:
  using Core = std::shared_ptr<MembershipCore>;
  [[nodiscard]] static pub::Result<Core> join(const pub::Cluster& cluster, const pub::Node& node,
                                              pub::MembershipOptions options);
  MembershipCore(std::shared_ptr<ClusterCore> cluster, std::string id,
                 client::Generation generation, pub::MembershipOptions options)
      : cluster_(std::move(cluster)),
        id_(std::move(id)),
        generation_(std::move(generation)),
        options_(std::make_shared<const pub::MembershipOptions>(std::move(options))) {}

  void heard(const client::AgentEvent& event);
  /// The registry as it is now.
  void seen(const client::TopologyView& view);
  [[nodiscard]] std::optional<Duration> silence();
  [[nodiscard]] pub::Status drain(bool draining);
  [[nodiscard]] pub::Status leave();
  /// The handle is gone.
  void end();
  /// Leaves in the background.
  void drop();

 private:
  [[nodiscard]] client::NodeAgent& agent() { return **cluster_->agent(); }
  [[nodiscard]] pub::Status wait_until_active();
  void tell(pub::Code code, const std::string& message);

  const std::shared_ptr<ClusterCore> cluster_;
  const std::string id_;
  const client::Generation generation_;  ///< Of its first registration.
  const std::shared_ptr<const pub::MembershipOptions> options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool active_ = false;  ///< Has been.
  bool over_ = false;    ///< The agent is done with the node.
  std::string trouble_;  ///< Why it is not registered, as far as a server has said.
};

}  // namespace muster::api
