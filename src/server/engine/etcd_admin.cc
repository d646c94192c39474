#include "server/engine/etcd_admin.h"

#include <utility>

#include "etcd/rpc.pb.h"
#include "store/etcd/client.h"

namespace muster::engine {
namespace {

using remote::Access;

Members to_members(const google::protobuf::RepeatedPtrField<etcdserverpb::Member>& listed) {
  Members members;
  for (const etcdserverpb::Member& each : listed) {
    Member member{each.id(),
                  each.name(),
                  each.peerurls().empty() ? "" : each.peerurls(0),
                  {},
                  each.islearner()};
    for (const std::string& url : each.clienturls()) {
      const auto scheme = url.find("://");
      member.contacts.push_back(scheme == std::string::npos ? url : url.substr(scheme + 3));
    }
    members.push_back(std::move(member));
  }
  return members;
}

std::uint64_t bytes(std::int64_t size) {
  return size > 0 ? static_cast<std::uint64_t>(size) : 0;
}

}  // namespace

class EtcdAdmin::Impl {
 public:
  Impl(const std::string& socket, EventLoop& loop) : client_(options(socket), loop) {}

  /// Sends a request and hands what `read` makes of the answer to `done`.
  template <typename Response, typename T, typename Request, typename Read>
  void call(const char* method, const Request& request, Access access, Deadline by,
            Callback<T> done, Read read) {
    client_.unary<Response>(method, request, access, by,
                            [done = std::move(done), read](Result<Response> response) {
                              if (!response) return done(response.error());
                              done(read(*response));
                            });
  }

 private:
  static etcd::ClientOptions options(const std::string& socket) {
    etcd::ClientOptions options;
    options.endpoints = {"unix:" + socket};
    return options;
  }

  etcd::Client client_;
};

EtcdAdmin::EtcdAdmin(const std::string& socket, EventLoop& loop)
    : impl_(std::make_unique<Impl>(socket, loop)) {}

EtcdAdmin::~EtcdAdmin() = default;

void EtcdAdmin::vitals(Deadline by, Callback<Vitals> done) {
  using Response = etcdserverpb::StatusResponse;
  impl_->call<Response>("/etcdserverpb.Maintenance/Status", etcdserverpb::StatusRequest(),
                        Access::kRead, by, std::move(done), [](const Response& response) {
                          Vitals vitals;
                          vitals.member_id = response.header().member_id();
                          vitals.leader_id = response.leader();
                          vitals.learner = response.islearner();
                          vitals.revision = response.header().revision();
                          vitals.file_bytes = bytes(response.dbsize());
                          vitals.used_bytes = bytes(response.dbsizeinuse());
                          vitals.version = response.version();
                          return vitals;
                        });
}

void EtcdAdmin::members(Deadline by, Callback<Members> done) {
  using Response = etcdserverpb::MemberListResponse;
  impl_->call<Response>("/etcdserverpb.Cluster/MemberList", etcdserverpb::MemberListRequest(),
                        Access::kRead, by, std::move(done),
                        [](const Response& response) { return to_members(response.members()); });
}

void EtcdAdmin::alarms(Deadline by, Callback<Alarms> done) {
  using Response = etcdserverpb::AlarmResponse;
  impl_->call<Response>("/etcdserverpb.Maintenance/Alarm", etcdserverpb::AlarmRequest(),
                        Access::kRead, by, std::move(done), [](const Response& response) {
                          Alarms alarms;
                          for (const auto& each : response.alarms()) {
                            if (each.alarm() == etcdserverpb::NOSPACE) {
                              alarms.full.insert(each.memberid());
                            }
                            if (each.alarm() == etcdserverpb::CORRUPT) alarms.corrupt = true;
                          }
                          return alarms;
                        });
}

void EtcdAdmin::add_learner(const std::string& peer_url, Deadline by, Callback<Members> done) {
  using Response = etcdserverpb::MemberAddResponse;
  etcdserverpb::MemberAddRequest request;
  request.add_peerurls(peer_url);
  request.set_islearner(true);
  impl_->call<Response>("/etcdserverpb.Cluster/MemberAdd", request, Access::kWrite, by,
                        std::move(done),
                        [](const Response& response) { return to_members(response.members()); });
}

void EtcdAdmin::remove(std::uint64_t id, Deadline by, Callback<Done> done) {
  using Response = etcdserverpb::MemberRemoveResponse;
  etcdserverpb::MemberRemoveRequest request;
  request.set_id(id);
  impl_->call<Response>("/etcdserverpb.Cluster/MemberRemove", request, Access::kWrite, by,
                        std::move(done), [](const Response&) { return Done{}; });
}

void EtcdAdmin::promote(std::uint64_t id, Deadline by, Callback<Done> done) {
  using Response = etcdserverpb::MemberPromoteResponse;
  etcdserverpb::MemberPromoteRequest request;
  request.set_id(id);
  impl_->call<Response>("/etcdserverpb.Cluster/MemberPromote", request, Access::kWrite, by,
                        std::move(done), [](const Response&) { return Done{}; });
}

void EtcdAdmin::compact(std::int64_t revision, Deadline by, Callback<Done> done) {
  using Response = etcdserverpb::CompactionResponse;
  etcdserverpb::CompactionRequest request;
  request.set_revision(revision);
  request.set_physical(true);
  impl_->call<Response>("/etcdserverpb.KV/Compact", request, Access::kWrite, by, std::move(done),
                        [](const Response&) { return Done{}; });
}

void EtcdAdmin::defragment(Deadline by, Callback<Done> done) {
  using Response = etcdserverpb::DefragmentResponse;
  impl_->call<Response>("/etcdserverpb.Maintenance/Defragment", etcdserverpb::DefragmentRequest(),
                        Access::kWrite, by, std::move(done),
                        [](const Response&) { return Done{}; });
}

void EtcdAdmin::disarm(std::uint64_t id, Deadline by, Callback<Done> done) {
  using Response = etcdserverpb::AlarmResponse;
  etcdserverpb::AlarmRequest request;
  request.set_action(etcdserverpb::AlarmRequest::DEACTIVATE);
  request.set_memberid(id);
  request.set_alarm(etcdserverpb::NOSPACE);
  impl_->call<Response>("/etcdserverpb.Maintenance/Alarm", request, Access::kWrite, by,
                        std::move(done), [](const Response&) { return Done{}; });
}

}  // namespace muster::engine
