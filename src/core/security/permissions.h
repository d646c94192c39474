#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "core/security/role.h"

namespace muster::security {

/// All calls of a server, on any of its listeners.
enum class Call {
  // muster.v1.CoordinatorService
  kGetTopology,
  kWatchTopology,
  kRegisterNode,
  kDeregisterNode,
  kHeartbeat,
  kHeartbeatStream,
  kHealthCheck,
  // muster.v1.StoreService
  kStoreGet,
  kStorePut,
  kStorePutStream,
  kStoreRemove,
  kStoreList,
  kStoreWatch,
  // muster.v1.ElectionService
  kCampaign,
  kElectionLeader,
  kObserveElection,
  // muster.v1.LockService
  kLockAcquire,
  kLockRenew,
  kLockRelease,
  kGetLock,
  // muster.v1.AdminService
  kDrainNode,
  kSetHashRing,
  kListServers,
  kRemoveServer,
  kTransferLeadership,
  kBackup,
  kMove,
  // muster.v1.ObserveService
  kExplain,
  kSetLogLevel,
  // muster.v1.PeerService
  kAnnounce,
  kAdmit,
  kMoveState,
  // Services of every gRPC server.
  kGrpcHealthCheck,
  kGrpcHealthWatch,
  kGrpcReflection,
  // HTTP
  kHttpPage,
  kHttpApi,
  kHttpMetrics,
  kHttpHealthz,
  kHttpReadyz,
  /// Every role may ask; the gRPC method behind the path decides.
  kHttpV1,
};

/// One row of the table: the roles that may make a call.
struct Permission {
  Call call;
  /// The full name of a gRPC method, such as "/muster.v1.StoreService/Get", or an HTTP path.
  std::string_view name;
  std::uint8_t roles;  ///< A bit for each Role.
  bool anybody;        ///< Even without a certificate.
};

/// The table, one row for each call, in the order of the enumeration. docs/security.md shows it,
/// and a test compares the two.
[[nodiscard]] std::span<const Permission> permissions();

/// Whether `role` may make the call at all; identity.h decides on whose behalf.
[[nodiscard]] bool allowed(Role role, Call call);
/// Probes of load balancers and kubelets have no certificates.
[[nodiscard]] bool allowed_without_certificate(Call call);

/// The call of a gRPC method by its full name. None: there is no such call, and it is refused.
[[nodiscard]] std::optional<Call> call_of_method(std::string_view method);
/// The call of an HTTP path, without its query. None for a path that two programs might read
/// differently ("..", "//", percent signs): it is refused for every role. Below /v1 names are parts
/// of paths, so that ":", "@" and percent signs are allowed.
[[nodiscard]] std::optional<Call> call_of_path(std::string_view path);

}  // namespace muster::security
