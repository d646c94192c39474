#include "server/rpc/streams.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

namespace muster::rpc {

bool is_stream(const std::string& method) {
  if (method == "/grpc.health.v1.Health/Check") return false;
  std::string name = method.substr(std::min<std::size_t>(1, method.size()));
  std::replace(name.begin(), name.end(), '/', '.');
  const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  return found == nullptr || found->client_streaming() || found->server_streaming();
}

}  // namespace muster::rpc
