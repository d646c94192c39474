#pragma once

#include <muster/arbiter.h>
#include <muster/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::api {
class ClusterCore;
class MembershipCore;
class DirectoryCore;
class ViewCore;
}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

/// A cluster of musterd, which keeps a registry of nodes.
///
/// A handle: copies are cheap and share one connection and its two threads, which end with the last
/// copy and everything made from it, in any order of destruction.
///
/// Threads: any.
class MUSTER_EXPORT Cluster {
 public:
  Cluster(const Cluster&);
  Cluster& operator=(const Cluster&);
  ~Cluster();

  /// `servers` is "host:9000", or several separated by commas. They need not answer yet.
  [[nodiscard]] static Result<Cluster> connect(const std::string& servers, const Tls& tls = {});

 private:
  friend class muster::api::ClusterCore;
  explicit Cluster(std::shared_ptr<muster::api::ClusterCore> core);
  std::shared_ptr<muster::api::ClusterCore> core_;
};

/// The services that have a number. Nodes of all others are kUnknown.
enum class NodeKind : int { kUnknown = 0, kFrontend = 1, kMetadata = 2, kObject = 3 };

enum class NodeState : int {
  kUnknown = 0,
  kActive = 1,
  kJoining = 2,
  kDraining = 3,  ///< Keys move away.
  kDown = 4,
  kSuspect = 5,  ///< Its heartbeats are late; it still holds its keys.
};

struct Node {
  std::string id{};  ///< Unique in the cluster.
  std::string address{};
  std::uint16_t port = 0;
  NodeKind kind = NodeKind::kObject;
  std::uint32_t weight = 1;               ///< Its relative share of the keys.
  NodeState state = NodeState::kUnknown;  ///< As the servers see it; join() ignores it.
  /// 1 to 63 lower-case letters, digits and hyphens, a letter first. join() ignores `kind` if this
  /// is given. In a view it is never empty: "object" for the kind of that name.
  std::string service{};
  /// At most 32 and 4096 bytes. A key has 1 to 63 letters, digits and . _ - /, a value at most 255
  /// bytes.
  std::map<std::string, std::string> tags{};
};

struct MembershipOptions {
  /// How long join() waits until the node is registered.
  Duration wait = Duration(10'000'000'000);
  /// Called with kConflict when another process has registered the node, which is final, and with
  /// kUnavailable when the servers have lost the node, which then registers anew, or are
  /// unreachable. On the callback thread.
  std::function<void(const Error&)> on_trouble{};
};

/// Keeps a node registered: sends its heartbeats, and registers it anew if the servers lost it. The
/// destructor is leave(). In a callback it does not wait.
///
/// Threads: any, but only one may move or destroy the object.
class MUSTER_EXPORT Membership {
 public:
  /// Returns when the node is registered and ACTIVE. kTimeout: no server has accepted it within
  /// `options.wait`. kInvalid names the fault of the node, or says that this is a callback.
  [[nodiscard]] static Result<Membership> join(const Cluster& cluster, const Node& node,
                                               MembershipOptions options = {});
  Membership(Membership&&) noexcept;
  Membership& operator=(Membership&&) noexcept;
  ~Membership();

  /// The time since heartbeats were last acknowledged; nullopt: never. The servers take a node that
  /// is silent for long for dead: stop work that others would take over before that.
  [[nodiscard]] std::optional<Duration> silence() const;
  /// Asks for its keys to move away, or ends that; the node stays registered.
  Status drain(bool draining = true);
  /// Deregisters the node and waits for that, at most 10 s (then kTimeout). kInvalid in a callback.
  Status leave();

 private:
  explicit Membership(std::shared_ptr<muster::api::MembershipCore> core);
  std::shared_ptr<muster::api::MembershipCore> core_;
};

/// The registry at one version. Immutable, a handle. Threads: any.
class MUSTER_EXPORT View {
 public:
  View();
  /// Rises with each change of the registry, or of the service that is followed.
  [[nodiscard]] std::uint64_t version() const;
  [[nodiscard]] std::size_t size() const;
  /// Nodes in the order of their ids.
  [[nodiscard]] std::vector<Node> nodes() const;
  [[nodiscard]] std::optional<Node> find(const std::string& id) const;
  /// The nodes that hold a key, the primary first: at most `most`, and at most the replication
  /// factor of the cluster. The same in every process at the same version.
  [[nodiscard]] std::vector<Node> owners(const std::string& key, std::size_t most = 64) const;
  /// The same among the nodes of one service. owners() is about those of all three kinds together,
  /// or, in a directory of one service, about its nodes.
  [[nodiscard]] std::vector<Node> owners_of(const std::string& service, const std::string& key,
                                            std::size_t most = 64) const;

 private:
  friend class muster::api::DirectoryCore;
  explicit View(std::shared_ptr<const muster::api::ViewCore> core);
  std::shared_ptr<const muster::api::ViewCore> core_;
};

struct DirectoryOptions {
  /// How long follow() waits for the first copy.
  Duration wait = Duration(10'000'000'000);
  /// Called after each change with the new view. On the callback thread.
  std::function<void(const View&)> on_change{};
  /// Only nodes of this service; "*": all nodes; empty: those that have a kind.
  std::string service{};
};

/// A local copy of the registry that follows every change.
///
/// A handle: copies of it share one copy of the registry. No callback runs after the last one was
/// destroyed, unless that happens in a callback.
///
/// Not guaranteed: that a view is current. It is the servers' last report, some milliseconds old,
/// or older while no server is reachable.
///
/// Threads: any.
class MUSTER_EXPORT Directory {
 public:
  /// Returns when the first copy has arrived. kTimeout: it has not within `options.wait`. kInvalid:
  /// that is no name of a service, or this is a callback.
  [[nodiscard]] static Result<Directory> follow(const Cluster& cluster,
                                                DirectoryOptions options = {});
  [[nodiscard]] View view() const;

 private:
  explicit Directory(std::shared_ptr<muster::api::DirectoryCore> core);
  std::shared_ptr<muster::api::DirectoryCore> core_;
};

MUSTER_END_NAMESPACE
