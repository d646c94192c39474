#include "server/rpc/health.h"

#include <algorithm>
#include <utility>

#include "grpc/health/v1/health.pb.h"
#include "server/rpc/message.h"

namespace muster::rpc {
namespace {

using Request = grpc::health::v1::HealthCheckRequest;
using Response = grpc::health::v1::HealthCheckResponse;

}  // namespace

struct Health::Watcher {
  Watcher(CallPtr c, bool k) : call(std::move(c)), known(k) {}
  CallPtr call;
  bool known;  ///< The service that it asks about.
  bool writing = false;
  Response::ServingStatus told = Response::UNKNOWN;
};

Health::~Health() {
  for (const Shared& watcher : watchers_) watcher->call->on_over({});
}

bool Health::answers(const CallPtr& call) {
  if (call->method() == "/grpc.health.v1.Health/Check") {
    check(call);
    return true;
  }
  if (call->method() == "/grpc.health.v1.Health/Watch") {
    watch(call);
    return true;
  }
  return false;
}

bool Health::knows(const std::string& service) const {
  return service.empty() ||
         std::find(services_.begin(), services_.end(), service) != services_.end();
}

void Health::check(const CallPtr& call) {
  read_request<Request>(call, [this](const CallPtr& c, const Request& request, const auto&) {
    if (!knows(request.service())) {
      return c->finish({Code::kNotFound, "there is no service " + request.service(), {}});
    }
    Response response;
    response.set_status(serving_ ? Response::SERVING : Response::NOT_SERVING);
    reply(c, response);
  });
}

void Health::watch(const CallPtr& call) {
  read_opening<Request>(call, [this](const CallPtr& c, const Request& request, const auto&) {
    auto watcher = std::make_shared<Watcher>(c, knows(request.service()));
    watchers_.insert(watcher);
    c->on_over([this, weak = std::weak_ptr(watcher)] {
      if (const Shared gone = weak.lock()) watchers_.erase(gone);
    });
    pump(watcher);
  });
}

void Health::set_serving(bool serving) {
  if (std::exchange(serving_, serving) == serving) return;
  const std::vector<Shared> all(watchers_.begin(), watchers_.end());
  for (const Shared& watcher : all) pump(watcher);
}

void Health::pump(const Shared& watcher) {
  const auto status = !watcher->known ? Response::SERVICE_UNKNOWN
                      : serving_      ? Response::SERVING
                                      : Response::NOT_SERVING;
  if (watcher->writing || watcher->told == status) return;
  watcher->writing = true;
  watcher->told = status;
  Response response;
  response.set_status(status);
  watcher->call->write(to_payload(response), [this, weak = std::weak_ptr(watcher)] {
    const Shared here = weak.lock();
    if (!here) return;
    here->writing = false;
    pump(here);
  });
}

}  // namespace muster::rpc
