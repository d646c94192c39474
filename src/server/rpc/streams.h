#pragma once

#include <string>

namespace muster::rpc {

/// Whether calls of a method ("/package.Service/Method") last, that is: one of its sides is a
/// stream in the service's own description. A method without a description counts as one, so that
/// none is forgotten, except the check of gRPC's health service. Any thread; takes a lock.
[[nodiscard]] bool is_stream(const std::string& method);

}  // namespace muster::rpc
