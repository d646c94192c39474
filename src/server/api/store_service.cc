#include "server/api/store_service.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "server/api/convert.h"
#include "server/rpc/message.h"

namespace muster::server {
namespace {

constexpr int kPutsMax = 1000;
/// Messages of one stream that may wait for their outcomes; the log bounds their bytes.
constexpr std::size_t kPutsAhead = 1024;
constexpr std::uint32_t kPageMax = 1000;
constexpr std::size_t kPageBytesMax = 1024 * 1024;

/// A lost race is no mistake of the caller.
rpc::RpcStatus refused(const Error& error) {
  rpc::RpcStatus status = rpc::to_status(error);
  if (error.code == Errc::kConflict) status.code = rpc::Code::kAborted;
  return status;
}

void not_found(const rpc::CallPtr& call, const std::string& key) {
  call->finish({rpc::Code::kNotFound, "the key \"" + key + "\" does not exist", {}});
}

void refuse(const rpc::CallPtr& call, std::string rule) {
  call->finish({rpc::Code::kInvalidArgument, std::move(rule), {}});
}

/// Whether it can be the beginning of a key; ends the call when it cannot.
bool short_enough(const rpc::CallPtr& call, const std::string& field, const std::string& value) {
  if (value.size() <= cluster::kKeyBytesMax) return true;
  refuse(call, field + " must have at most 1024 bytes");
  return false;
}

}  // namespace

void StoreService::add_to(rpc::Router& router) {
  const std::string service = "/muster.v1.StoreService/";
  router.add(service + "Get", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::StoreGetRequest>(
        call, [this](const auto& c, const auto& request, const auto&) {
          if (cluster_.access().charge(c, LimitedCall::kRead, request.key())) Get(c, request);
        });
  });
  router.add(service + "Put", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::StorePutRequest>(
        call, [this](const auto& c, const auto& request, const std::string& bytes) {
          if (!cluster_.access().charge(c, LimitedCall::kWrite, request.key())) return;
          cluster_.at_leader(c, bytes, [this, c, request] { Put(c, request); });
        });
  });
  router.add(service + "PutStream", [this](const rpc::CallPtr& call) { PutStream(call); });
  router.add(service + "Remove", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::StoreRemoveRequest>(
        call, [this](const auto& c, const auto& request, const std::string& bytes) {
          if (!cluster_.access().charge(c, LimitedCall::kWrite, request.key())) return;
          cluster_.at_leader(c, bytes, [this, c, request] { Remove(c, request); });
        });
  });
  router.add(service + "List", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::StoreListRequest>(
        call, [this](const auto& c, const auto& request, const auto&) {
          if (cluster_.access().charge(c, LimitedCall::kRead, request.prefix())) List(c, request);
        });
  });
  router.add(service + "Watch", [this](const rpc::CallPtr& call) {
    rpc::read_opening<v1::StoreWatchRequest>(
        call, [this](const auto& c, const auto& request, const auto&) { Watch(c, request); });
  });
}

void StoreService::Get(const rpc::CallPtr& call, const v1::StoreGetRequest& request) {
  if (Status s = cluster::validate_key(request.key()); !s) {
    return call->finish(rpc::to_status(s.error()));
  }
  cluster_.read(call, !request.stale_ok(), [this, call, request] {
    const cluster::KvEntry* entry = cluster_.state().kv().find(request.key());
    if (entry == nullptr) return not_found(call, request.key());
    v1::StoreGetResponse response;
    response.set_unchanged(entry->revision == request.unless_revision());
    to_proto(request.key(), *entry, cluster_.state().topology().log_time(), !response.unchanged(),
             *response.mutable_object());
    rpc::reply(call, response);
  });
}

void StoreService::Put(const rpc::CallPtr& call, v1::StorePutRequest request) {
  const auto command = to_command(std::move(request));
  if (!command) return call->finish(rpc::to_status(command.error()));
  cluster_.propose(
      call, *command,
      [call](const cluster::Answer& answer) {
        v1::StorePutResponse response;
        response.set_revision(answer.revision);
        rpc::reply(call, response);
      },
      refused);
}

void StoreService::PutStream(const rpc::CallPtr& call) {
  cluster_.only_at_leader(call, [this, call] {
    rpc::Pipeline::run(cluster_.loop(), call, {.ahead_max = kPutsAhead, .merge = true},
                       [this, call](const std::string& bytes, rpc::Pipeline::Answer answer) {
                         put_all(call, bytes, std::move(answer));
                       });
  });
}

void StoreService::put_all(const rpc::CallPtr& call, const std::string& bytes,
                           rpc::Pipeline::Answer answer) {
  v1::StorePutBatch batch;
  if (!rpc::parse(call, bytes, batch)) return;
  if (batch.puts_size() < 1 || batch.puts_size() > kPutsMax) {
    return call->finish({rpc::Code::kInvalidArgument, "puts must be 1 to 1000 in a message", {}});
  }
  struct Pending {
    v1::StorePutOutcomes outcomes;
    int left = 0;
    rpc::Pipeline::Answer answer;
  };
  auto pending = std::make_shared<Pending>();
  pending->left = batch.puts_size();
  pending->answer = std::move(answer);
  for (int i = 0; i < batch.puts_size(); ++i) pending->outcomes.add_outcomes();
  for (int i = 0; i < batch.puts_size(); ++i) {
    const auto done = [this, call, pending, i,
                       key = batch.puts(i).key()](const Result<cluster::Answer>& put) {
      v1::StorePutOutcome& outcome = *pending->outcomes.mutable_outcomes(i);
      const rpc::RpcStatus status = put ? rpc::RpcStatus{} : refused(put.error());
      if (put) outcome.set_revision(put->revision);
      outcome.set_code(static_cast<std::int32_t>(status.code));
      outcome.set_message(status.message);
      cluster_.access().wrote(call, key, status);
      if (--pending->left == 0) pending->answer(rpc::to_payload(pending->outcomes));
    };
    const auto command = to_command(std::move(*batch.mutable_puts(i)));
    Status good = command ? Status(Done{}) : Status(command.error());
    if (good) good = cluster_.access().check_write(call);
    if (!good) {
      done(good.error());
    } else {
      cluster_.propose(*command, done);
    }
  }
}

void StoreService::Remove(const rpc::CallPtr& call, v1::StoreRemoveRequest request) {
  cluster_.propose(
      call, to_command(std::move(request)),
      [call](const cluster::Answer& answer) {
        v1::StoreRemoveResponse response;
        response.set_revision(answer.revision);
        rpc::reply(call, response);
      },
      refused);
}

void StoreService::List(const rpc::CallPtr& call, const v1::StoreListRequest& request) {
  if (request.limit() > kPageMax) return refuse(call, "limit must be at most 1000");
  if (!short_enough(call, "prefix", request.prefix())) return;
  if (!short_enough(call, "after", request.after())) return;
  cluster_.read_much(call, !request.stale_ok(), [this, call, request] {
    const cluster::ClusterState& state = cluster_.state();
    const std::uint32_t limit = request.limit() == 0 ? kPageMax : request.limit();
    v1::StoreListResponse response;
    response.set_revision(state.kv().revision());
    std::size_t bytes = 0;
    state.kv().scan(request.prefix(), request.after(),
                    [&](const std::string& key, const cluster::KvEntry& entry) {
                      if (static_cast<std::uint32_t>(response.objects_size()) >= limit ||
                          bytes >= kPageBytesMax) {
                        response.set_more(true);
                        return false;
                      }
                      to_proto(key, entry, state.topology().log_time(), request.with_values(),
                               *response.add_objects());
                      bytes += key.size() + (request.with_values() ? entry.value->size() : 0);
                      return true;
                    });
    rpc::reply(call, response);
  });
}

void StoreService::Watch(const rpc::CallPtr& call, const v1::StoreWatchRequest& request) {
  if (!short_enough(call, "prefix", request.prefix())) return;
  // "From now on" means from everything acknowledged before. A client that has seen more than
  // this server waits until it has caught up, and is of another history when that is not enough.
  constexpr auto kOfAnother = std::numeric_limits<cluster::KvRevision>::max();
  const cluster::KvRevision after =
      cluster_.is_other(request.history()) ? kOfAnother : request.after_revision();
  const bool fresh = after == 0 || after > cluster_.state().kv().revision();
  if (!cluster_.access().open_watch(call)) return;
  cluster_.read(call, fresh, [this, call, after, prefix = request.prefix()] {
    hub_.watch(call, prefix, after, cluster_.history());
  });
}

}  // namespace muster::server
