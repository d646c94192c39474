#include "core/security/permissions.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/check.h"

namespace muster::security {
namespace {

constexpr std::uint8_t bit(Role role) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(role));
}
constexpr std::uint8_t bits(std::initializer_list<Role> roles) {
  std::uint8_t all = 0;
  for (const Role role : roles) all = static_cast<std::uint8_t>(all | bit(role));
  return all;
}

using enum Role;
constexpr std::uint8_t kAll = bits({kServer, kNode, kAgent, kAdmin, kReader});
constexpr std::uint8_t kWriters = bits({kServer, kNode, kAgent, kAdmin});
/// A server may do what an admin may, because it forwards what it was asked to the leader.
constexpr std::uint8_t kOperators = bits({kServer, kAdmin});
constexpr std::uint8_t kPeople = bits({kAdmin, kReader});

constexpr std::array kTable{
    Permission{Call::kGetTopology, "/muster.v1.CoordinatorService/GetTopology", kAll, false},
    Permission{Call::kWatchTopology, "/muster.v1.CoordinatorService/WatchTopology", kAll, false},
    Permission{Call::kRegisterNode, "/muster.v1.CoordinatorService/RegisterNode", kWriters, false},
    Permission{Call::kDeregisterNode, "/muster.v1.CoordinatorService/DeregisterNode", kWriters,
               false},
    Permission{Call::kHeartbeat, "/muster.v1.CoordinatorService/Heartbeat", kWriters, false},
    Permission{Call::kHeartbeatStream, "/muster.v1.CoordinatorService/HeartbeatStream", kWriters,
               false},
    Permission{Call::kHealthCheck, "/muster.v1.CoordinatorService/HealthCheck", kAll, false},
    Permission{Call::kStoreGet, "/muster.v1.StoreService/Get", kAll, false},
    Permission{Call::kStorePut, "/muster.v1.StoreService/Put", kWriters, false},
    Permission{Call::kStorePutStream, "/muster.v1.StoreService/PutStream", kWriters, false},
    Permission{Call::kStoreRemove, "/muster.v1.StoreService/Remove", kWriters, false},
    Permission{Call::kStoreList, "/muster.v1.StoreService/List", kAll, false},
    Permission{Call::kStoreWatch, "/muster.v1.StoreService/Watch", kAll, false},
    Permission{Call::kCampaign, "/muster.v1.ElectionService/Campaign", kWriters, false},
    Permission{Call::kElectionLeader, "/muster.v1.ElectionService/Leader", kAll, false},
    Permission{Call::kObserveElection, "/muster.v1.ElectionService/Observe", kAll, false},
    Permission{Call::kLockAcquire, "/muster.v1.LockService/Acquire", kWriters, false},
    Permission{Call::kLockRenew, "/muster.v1.LockService/Renew", kWriters, false},
    Permission{Call::kLockRelease, "/muster.v1.LockService/Release", kWriters, false},
    Permission{Call::kGetLock, "/muster.v1.LockService/GetLock", kAll, false},
    Permission{Call::kDrainNode, "/muster.v1.AdminService/DrainNode", kOperators, false},
    Permission{Call::kSetHashRing, "/muster.v1.AdminService/SetHashRing", kOperators, false},
    Permission{Call::kListServers, "/muster.v1.AdminService/ListServers",
               bits({kServer, kAdmin, kReader}), false},
    Permission{Call::kRemoveServer, "/muster.v1.AdminService/RemoveServer", kOperators, false},
    Permission{Call::kTransferLeadership, "/muster.v1.AdminService/TransferLeadership", kOperators,
               false},
    Permission{Call::kBackup, "/muster.v1.AdminService/Backup", kOperators, false},
    Permission{Call::kMove, "/muster.v1.AdminService/Move", kOperators, false},
    Permission{Call::kExplain, "/muster.v1.ObserveService/Explain",
               bits({kServer, kAdmin, kReader}), false},
    Permission{Call::kSetLogLevel, "/muster.v1.ObserveService/SetLogLevel", kOperators, false},
    Permission{Call::kAnnounce, "/muster.v1.PeerService/Announce", bits({kServer}), false},
    Permission{Call::kAdmit, "/muster.v1.PeerService/Admit", bits({kServer}), false},
    Permission{Call::kMoveState, "/muster.v1.PeerService/MoveState", bits({kServer}), false},
    Permission{Call::kGrpcHealthCheck, "/grpc.health.v1.Health/Check", kAll, false},
    Permission{Call::kGrpcHealthWatch, "/grpc.health.v1.Health/Watch", kAll, false},
    Permission{Call::kGrpcReflection,
               "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kAll, false},
    Permission{Call::kHttpPage, "/", kPeople, false},
    Permission{Call::kHttpApi, "/api/", kPeople, false},
    Permission{Call::kHttpMetrics, "/metrics", kPeople, false},
    Permission{Call::kHttpHealthz, "/healthz", kAll, true},
    Permission{Call::kHttpReadyz, "/readyz", kAll, true},
    Permission{Call::kHttpV1, "/v1/", kAll, false},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].call != static_cast<Call>(i)) return false;
  }
  return kTable.back().call == Call::kHttpV1;
}
static_assert(in_order(), "the table has one row for each call, in the order of the enumeration");

const Permission& row(Call call) {
  const auto index = static_cast<std::size_t>(call);
  MUSTER_CHECK(index < kTable.size());
  return kTable[index];
}

bool is_plain(std::string_view path, std::string_view more = {}) {
  return path.starts_with('/') && path.find("//") == std::string_view::npos &&
         std::all_of(path.begin(), path.end(), [more](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '/' || c == '.' || c == '_' || c == '-' || more.find(c) != more.npos;
         });
}

/// Whether a part of the path is "." or "..", which some programs resolve.
bool has_dots(std::string_view path) {
  return path.find("/./") != path.npos || path.find("/../") != path.npos || path.ends_with("/.") ||
         path.ends_with("/..");
}

}  // namespace

std::span<const Permission> permissions() {
  return kTable;
}

bool allowed(Role role, Call call) {
  return (row(call).roles & bit(role)) != 0;
}

bool allowed_without_certificate(Call call) {
  return row(call).anybody;
}

std::optional<Call> call_of_method(std::string_view method) {
  for (const Permission& each : kTable) {
    if (each.call < Call::kHttpPage && each.name == method) return each.call;
  }
  return std::nullopt;
}

std::optional<Call> call_of_path(std::string_view path) {
  if (path == "/v1" || path.starts_with("/v1/")) {
    if (!is_plain(path, ":@%") || has_dots(path)) return std::nullopt;
    return Call::kHttpV1;
  }
  if (!is_plain(path) || path.find("..") != path.npos) return std::nullopt;
  if (path == "/api" || path.starts_with("/api/")) return Call::kHttpApi;
  for (const Call call : {Call::kHttpMetrics, Call::kHttpHealthz, Call::kHttpReadyz}) {
    if (path == row(call).name) return call;
  }
  // Whatever else there is belongs to the page: its scripts, its styles, its icons.
  return Call::kHttpPage;
}

}  // namespace muster::security
