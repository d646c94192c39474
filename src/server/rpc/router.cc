#include "server/rpc/router.h"

#include <utility>

#include "base/check.h"

namespace muster::rpc {

void Router::add(std::string method, Handler handler) {
  // Methods are added at the start, each by the service that has it, by names in the source.
  MUSTER_CHECK(handlers_.emplace(std::move(method), std::move(handler)).second);
}

void Router::dispatch(const CallPtr& call) const {
  const auto found = handlers_.find(call->method());
  if (found == handlers_.end()) {
    return call->finish({Code::kUnimplemented, "this server has no such method", {}});
  }
  found->second(call);
}

}  // namespace muster::rpc
