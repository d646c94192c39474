#include "server/security/subject.h"

#include "muster/v1/coordinator.pb.h"
#include "muster/v1/election.pb.h"
#include "muster/v1/lock.pb.h"
#include "muster/v1/observe.pb.h"
#include "muster/v1/peer.pb.h"
#include "muster/v1/store.pb.h"
#include "store/url.h"

namespace muster::server {
namespace {

using server::subject;

std::string subject(const v1::RegisterNodeRequest& request) {
  return request.node().id();
}
std::string subject(const v1::HeartbeatBatch& batch) {
  return batch.heartbeats_size() == 0 ? std::string() : batch.heartbeats(0).node_id();
}
std::string subject(const v1::StorePutBatch& batch) {
  return batch.puts_size() == 0 ? std::string() : batch.puts(0).key();
}
std::string subject(const v1::CampaignRequest& request) {
  return request.hello().name();
}
std::string subject(const v1::LeaderRequest& request) {
  return request.name();
}
std::string subject(const v1::LockAcquireRequest& request) {
  return request.name();
}
std::string subject(const v1::LockRenewRequest& request) {
  return request.name();
}
std::string subject(const v1::LockReleaseRequest& request) {
  return request.name();
}
std::string subject(const v1::GetLockRequest& request) {
  return request.name();
}
std::string subject(const v1::SetLogLevelRequest& request) {
  return request.level();
}
std::string subject(const v1::AnnounceRequest& request) {
  return request.id();
}
std::string subject(const v1::AdmitRequest& request) {
  return request.name();
}
template <typename Request>
requires requires(const Request& request) {
  request.node_id();
}
std::string subject(const Request& request) {
  return request.node_id();
}
template <typename Request>
requires requires(const Request& request) {
  request.key();
}
std::string subject(const Request& request) {
  return request.key();
}

template <typename Request>
std::string read(const std::string& bytes) {
  Request request;
  return request.ParseFromString(bytes) ? subject(request) : std::string();
}

}  // namespace

std::string subject(const v1::DrainNodeRequest& request) {
  return request.node_id();
}
std::string subject(const v1::SetHashRingRequest&) {
  return "ring";
}
std::string subject(const v1::RemoveServerRequest& request) {
  return request.id();
}
std::string subject(const v1::TransferLeadershipRequest& request) {
  return request.to();
}
std::string subject(const v1::MoveRequest& request) {
  const auto url = Url::parse(request.engine());
  return url ? url->redacted() : request.engine().substr(0, request.engine().find(':'));
}

// No default: the compiler asks about a call that is not here.
bool is_recorded(security::Call what) {
  using enum security::Call;
  switch (what) {
    case kRegisterNode:
    case kDeregisterNode:
    case kStorePut:
    case kStoreRemove:
    case kLockAcquire:
    case kLockRelease:
    case kDrainNode:
    case kSetHashRing:
    case kRemoveServer:
    case kTransferLeadership:
    case kBackup:
    case kMove:
    case kSetLogLevel:
      return true;
    case kGetTopology:
    case kWatchTopology:
    case kHeartbeat:
    case kHeartbeatStream:
    case kHealthCheck:
    case kStoreGet:
    case kStorePutStream:
    case kStoreList:
    case kStoreWatch:
    case kCampaign:
    case kElectionLeader:
    case kObserveElection:
    case kLockRenew:
    case kGetLock:
    case kListServers:
    case kExplain:
    case kMoveState:
    case kAnnounce:
    case kAdmit:
    case kGrpcHealthCheck:
    case kGrpcHealthWatch:
    case kGrpcReflection:
    case kHttpPage:
    case kHttpApi:
    case kHttpMetrics:
    case kHttpHealthz:
    case kHttpReadyz:
    case kHttpV1:
      return false;
  }
  return true;
}

std::string subject_of(security::Call call, const std::string& bytes) {
  using enum security::Call;
  switch (call) {
    case kRegisterNode:
      return read<v1::RegisterNodeRequest>(bytes);
    case kDeregisterNode:
      return read<v1::DeregisterNodeRequest>(bytes);
    case kHeartbeat:
      return read<v1::HeartbeatRequest>(bytes);
    case kHeartbeatStream:
      return read<v1::HeartbeatBatch>(bytes);
    case kStoreGet:
      return read<v1::StoreGetRequest>(bytes);
    case kStorePut:
      return read<v1::StorePutRequest>(bytes);
    case kStorePutStream:
      return read<v1::StorePutBatch>(bytes);
    case kStoreRemove:
      return read<v1::StoreRemoveRequest>(bytes);
    case kCampaign:
      return read<v1::CampaignRequest>(bytes);
    case kElectionLeader:
    case kObserveElection:
      return read<v1::LeaderRequest>(bytes);
    case kLockAcquire:
      return read<v1::LockAcquireRequest>(bytes);
    case kLockRenew:
      return read<v1::LockRenewRequest>(bytes);
    case kLockRelease:
      return read<v1::LockReleaseRequest>(bytes);
    case kGetLock:
      return read<v1::GetLockRequest>(bytes);
    case kDrainNode:
      return read<v1::DrainNodeRequest>(bytes);
    case kSetHashRing:
      return read<v1::SetHashRingRequest>(bytes);
    case kRemoveServer:
      return read<v1::RemoveServerRequest>(bytes);
    case kTransferLeadership:
      return read<v1::TransferLeadershipRequest>(bytes);
    case kMove:
      return read<v1::MoveRequest>(bytes);
    case kSetLogLevel:
      return read<v1::SetLogLevelRequest>(bytes);
    case kAnnounce:
      return read<v1::AnnounceRequest>(bytes);
    case kAdmit:
      return read<v1::AdmitRequest>(bytes);
    default:
      return {};
  }
}

}  // namespace muster::server
