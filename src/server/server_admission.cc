// How a server becomes a member of a managed engine: asked by others, and asking them.
#include <utility>

#include "muster/v1/peer.pb.h"
#include "server/rpc/message.h"
#include "server/server.h"

namespace muster {
namespace {

constexpr Duration kAdmitTimeout = 10s;

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
  if (contacts.empty()) return done({Errc::kUnavailable, "none of the servers in --join answers"});
  const std::string contact = contacts.front();
  contacts.erase(contacts.begin());
  v1::AdmitRequest message;
  message.set_name(request.name);
  message.set_peer_url(request.peer_url);
  rpc_->call_peer(contact, kAdmit, message.SerializeAsString(), kAdmitTimeout,
                  lifetime_.wrap([this, contacts = std::move(contacts),
                                  request = std::move(request), done = std::move(done)](
                                     const rpc::RpcStatus& status, const std::string& answer) {
                    if (status.ok()) {
                      v1::AdmitResponse response;
                      if (response.ParseFromString(answer)) return done(to_members(response));
                      return done({Errc::kCorrupt,
                                   "the answer to the join request cannot be "
                                   "decoded"});
                    }
                    const Error error = rpc::to_error(status);
                    if (error.code == Errc::kInvalid || contacts.empty()) return done(error);
                    ask_admission(contacts, request, done);
                  }));
}

}  // namespace muster
