#include "tests/support/store_service_double.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "core/cluster/cluster_state.h"
#include "muster/v1/store.grpc.pb.h"

namespace muster {
namespace {

using grpc::ServerContext;

grpc::Status to_grpc(const Error& error) {
  switch (error.code) {
    case Errc::kNotFound:
      return {grpc::StatusCode::NOT_FOUND, error.message};
    case Errc::kConflict:
      return {grpc::StatusCode::ABORTED, error.message};
    default:
      return {grpc::StatusCode::INVALID_ARGUMENT, error.message};
  }
}

cluster::KvCondition condition(const v1::StoreCondition& when) {
  if (when.has_absent()) return cluster::Absent{};
  if (when.has_at_revision()) return cluster::AtRevision{when.at_revision()};
  return cluster::AnyVersion{};
}

void fill(const std::string& key, const cluster::KvEntry& entry, bool value, v1::StoreObject* out) {
  out->set_key(key);
  out->set_revision(entry.revision);
  if (value && entry.value) out->set_value(*entry.value);
}

}  // namespace

class StoreServiceDouble::Service final : public v1::StoreService::Service {
 public:
  Service() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    MUSTER_CHECK(server_ != nullptr && port_ != 0);
  }
  ~Service() override { shut_down(); }

  void shut_down() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    server_->Shutdown(std::chrono::system_clock::time_point{});
    server_->Wait();
  }

  grpc::Status Get(ServerContext* context, const v1::StoreGetRequest* request,
                   v1::StoreGetResponse* response) override {
    return answer("Get", context, [&]() -> grpc::Status {
      const auto* entry = state_->kv().find(request->key());
      if (entry == nullptr) return to_grpc({Errc::kNotFound, "no such key"});
      response->set_unchanged(entry->revision == request->unless_revision());
      if (!response->unchanged()) fill(request->key(), *entry, true, response->mutable_object());
      return grpc::Status::OK;
    });
  }

  grpc::Status Put(ServerContext* context, const v1::StorePutRequest* request,
                   v1::StorePutResponse* response) override {
    return answer("Put", context, [&] {
      cluster::StorePut put{request->key(), request->value(), condition(request->when()), {}, {}};
      if (request->has_guard()) {
        put.guard = cluster::StoreGuard{request->guard().key(), condition(request->guard().when())};
      }
      return apply(std::move(put), response);
    });
  }

  grpc::Status Remove(ServerContext* context, const v1::StoreRemoveRequest* request,
                      v1::StoreRemoveResponse* response) override {
    return answer("Remove", context, [&] {
      cluster::StoreRemove remove{request->key(), cluster::AnyVersion{}, {}};
      if (request->at_revision() != 0) remove.when = cluster::AtRevision{request->at_revision()};
      return apply(std::move(remove), response);
    });
  }

  grpc::Status List(ServerContext* context, const v1::StoreListRequest* request,
                    v1::StoreListResponse* response) override {
    return answer("List", context, [&] {
      response->set_revision(state_->kv().revision());
      const auto limit = static_cast<int>(request->limit());
      state_->kv().scan(request->prefix(), request->after(),
                        [&](const auto& key, const auto& entry) {
                          response->set_more(response->objects_size() == limit);
                          if (response->more()) return false;
                          fill(key, entry, request->with_values(), response->add_objects());
                          return true;
                        });
      return grpc::Status::OK;
    });
  }

  grpc::Status Watch(ServerContext* context, const v1::StoreWatchRequest* request,
                     grpc::ServerWriter<v1::StoreWatchResponse>* writer) override {
    std::unique_lock lock(mutex_);
    ++counts_["Watch"];
    const int generation = watch_generation_;
    v1::StoreWatchResponse response;
    auto after =
        request->after_revision() == 0 ? state_->kv().revision() : request->after_revision();
    if (!remembers(after)) {
      after = state_->kv().revision();
      response.set_reset(true);
    }
    for (;;) {
      if (!response.reset()) {
        state_->kv().replay(after, [&](const cluster::KvEvent& event) {
          if (!event.key.starts_with(request->prefix())) return true;
          auto* out = response.add_events();
          out->set_removed(event.removed());
          fill(event.key, event.entry, true, out->mutable_object());
          return true;
        });
        after = std::max(after, state_->kv().revision());
      }
      response.set_revision(after);
      if (!writer->Write(response)) return grpc::Status::CANCELLED;
      response.Clear();
      while (!context->IsCancelled() && generation == watch_generation_ && !ended_ &&
             state_->kv().revision() <= after) {
        changed_.wait_for(lock, std::chrono::milliseconds(20));
      }
      if (context->IsCancelled()) return grpc::Status::CANCELLED;
      if (generation != watch_generation_ || ended_) {
        return {grpc::StatusCode::UNAVAILABLE, "the server stops"};
      }
    }
  }

  template <typename F>
  auto locked(F f) {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    return f(*this);
  }

  int port_ = 0;
  std::map<std::string, std::deque<Fault>> faults_;
  std::map<std::string, Fault> constant_;
  std::map<std::string, int> counts_;
  int watch_generation_ = 0;
  cluster::KvRevision forgotten_ = 0;
  std::uint64_t index_ = 0;
  std::unique_ptr<cluster::ClusterState> state_ = std::make_unique<cluster::ClusterState>();

 private:
  [[nodiscard]] bool remembers(cluster::KvRevision after) const {
    return after >= forgotten_ && state_->kv().remembers(after);
  }

  template <typename C, typename Response>
  grpc::Status apply(C command, Response* response) {
    const cluster::Command whole = std::move(command);
    if (Status s = validate(whole); !s) return to_grpc(s.error());
    const auto applied = state_->apply(encode(whole), {++index_, 0, {}});
    MUSTER_CHECK(applied.ok());
    if (!applied->answer) return to_grpc(applied->answer.error());
    response->set_revision(applied->answer->revision);
    changed_.notify_all();
    return grpc::Status::OK;
  }

  grpc::Status answer(const std::string& method, ServerContext* context,
                      const std::function<grpc::Status()>& perform) {
    std::unique_lock lock(mutex_);
    ++counts_[method];
    std::optional<Fault> fault;
    if (auto& queue = faults_[method]; !queue.empty()) {
      fault = queue.front();
      queue.pop_front();
    } else if (const auto found = constant_.find(method); found != constant_.end()) {
      fault = found->second;
    }
    if (!fault) return perform();
    if (fault->perform) static_cast<void>(perform());
    while (fault->code == 0 && !context->IsCancelled() && !ended_) {
      changed_.wait_for(lock, std::chrono::milliseconds(20));
    }
    if (!fault->leader.empty()) context->AddTrailingMetadata("leader-address", fault->leader);
    if (fault->spoken) context->AddTrailingMetadata("muster-server", "double");
    return {static_cast<grpc::StatusCode>(fault->code == 0 ? 1 : fault->code), fault->message};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::unique_ptr<grpc::Server> server_;
};

StoreServiceDouble::StoreServiceDouble() : service_(std::make_unique<Service>()) {}
StoreServiceDouble::~StoreServiceDouble() = default;

std::string StoreServiceDouble::endpoint() const {
  return "127.0.0.1:" + std::to_string(service_->port_);
}

std::string StoreServiceDouble::url(const std::string& prefix) const {
  return "muster://" + endpoint() + "/" + prefix;
}

void StoreServiceDouble::next(const std::string& method, Fault fault) {
  service_->locked([&](Service& s) { s.faults_[method].push_back(std::move(fault)); });
}

void StoreServiceDouble::always(const std::string& method, Fault fault) {
  service_->locked([&](Service& s) { s.constant_[method] = std::move(fault); });
}

int StoreServiceDouble::count(const std::string& method) const {
  return service_->locked([&](Service& s) { return s.counts_[method]; });
}

void StoreServiceDouble::break_watches() {
  service_->locked([](Service& s) { ++s.watch_generation_; });
}

void StoreServiceDouble::forget_history() {
  service_->locked([](Service& s) { s.forgotten_ = s.state_->kv().revision(); });
}

void StoreServiceDouble::go_back_in_time() {
  service_->locked([](Service& s) {
    s.state_ = std::make_unique<cluster::ClusterState>();
    s.index_ = 0;
  });
}

void StoreServiceDouble::shut_down() {
  service_->shut_down();
}

}  // namespace muster
